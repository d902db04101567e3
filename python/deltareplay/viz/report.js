(function () {
  "use strict";
  var root = document.documentElement;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var chosen = null;
  var toggle = document.getElementById("theme");
  function paint() {
    var theme = chosen || (dark.matches ? "dark" : "light");
    root.dataset.theme = theme;
    toggle.textContent = theme === "dark" ? "Light" : "Dark";
    toggle.setAttribute("aria-label", "Switch to " + (theme === "dark" ? "light" : "dark") + " colours");
  }
  toggle.hidden = false;
  toggle.addEventListener("click", function () {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    paint();
  });
  dark.addEventListener("change", paint);
  paint();

  function key(row, place) {
    var cell = row.cells[place];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase();
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead th").forEach(function (head, place) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var body = table.tBodies[0];
        Array.from(body.rows).map(function (row) { return [key(row, place), row]; }).sort(function (a, b) {
          var order = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0]), undefined, { numeric: true });
          return down ? -order : order;
        }).forEach(function (pair) { body.appendChild(pair[1]); });
      });
    });
  });
  document.querySelectorAll("input.search").forEach(function (box) {
    box.addEventListener("input", function () {
      var wanted = box.value.trim().toLowerCase();
      Array.from(document.getElementById(box.dataset["for"]).tBodies[0].rows).forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      });
    });
  });
  if (navigator.clipboard) {
    document.querySelectorAll(".paste").forEach(function (block) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      block.appendChild(button);
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(block.querySelector("code").textContent).then(function () {
          button.textContent = "Copied";
          setTimeout(function () { button.textContent = "Copy"; }, 1500);
        });
      });
    });
  }
  window.addEventListener("afterprint", paint);
  window.addEventListener("beforeprint", function () {
    root.dataset.theme = "light";
  });
  root.dataset.ready = "true";
})();
