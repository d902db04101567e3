use super::*;

fn printed(text: &str) -> String {
    let columns = ["id", "a b", "s", "ts", "Tags", "m", "x"].map(str::to_owned);
    match for_spark(text, "the rule", &columns, Naming::Bare) {
        Ok(printed) => printed.sql,
        Err(error) => {
            assert_eq!(error.code(), "spark.expression", "{text}");
            format!("refused: {error}")
        }
    }
}

#[test]
fn prints_expressions() {
    for (text, expected) in [
        ("id > 0", "(`id` > 0)"),
        (
            "ID>0 and\n -- why\n not `a b` is null",
            "((`id` > 0) AND (NOT (`a b` IS NULL)))",
        ),
        (
            "id + 1 - 2 || 'x' || s * 2",
            "(`id` + 1 - 2 || 'x' || (`s` * 2))",
        ),
        ("id - (1 - 2)", "(`id` - (1 - 2))"),
        ("s.a.`b.c`[0]['k']", "`s`.`a`.`b.c`[0]['k']"),
        (
            "CASE WHEN id=1 THEN 'a' ELSE \"b\" END",
            "CASE WHEN (`id` = 1) THEN 'a' ELSE 'b' END",
        ),
        ("cast(id AS decimal(10,2))", "CAST(`id` AS DECIMAL(10, 2))"),
        ("id::bigint", "CAST(`id` AS BIGINT)"),
        (
            "s LIKE 'a\\_%' ESCAPE '/'",
            "(`s` LIKE 'a\\\\_%' ESCAPE '/')",
        ),
        ("s NOT RLIKE r'\\d+'", "(`s` NOT RLIKE '\\\\d+')"),
        ("id NOT BETWEEN -1 AND 2L", "(`id` NOT BETWEEN (-1) AND 2L)"),
        ("id IN (1, 2)", "(`id` IN (1, 2))"),
        (
            "ts > DATE '2020-01-01' - INTERVAL '1' DAY",
            "(`ts` > (DATE '2020-01-01' - (INTERVAL '1' DAY)))",
        ),
        ("year(ts) <=> 2020", "(`year`(`ts`) <=> 2020)"),
        ("extract(YEAR FROM ts)", "`date_part`('YEAR', `ts`)"),
        ("trim(BOTH 'x' FROM s)", "`btrim`(`s`, 'x')"),
        ("substring(s, 1, 2)", "`substring`(`s`, 1, 2)"),
        ("timestampadd(MONTH, 1, ts)", "timestampadd(MONTH, 1, `ts`)"),
        // names are spelled as in the table, or as the argument of the lambda function
        ("TAGS[0]", "`Tags`[0]"),
        (
            "transform(tags, Tags -> tAgS)",
            "`transform`(`Tags`, `Tags` -> `Tags`)",
        ),
        (
            "transform(Tags, e -> transform(tags, E -> e))",
            "`transform`(`Tags`, `e` -> `transform`(`Tags`, `E` -> `E`))",
        ),
        ("1.5e-3 + .5 + 1. + 2E5", "(1.5e-3 + .5 + 1. + 2E5)"),
        ("current_date", "`current_date`()"),
        ("current_timestamp() > ts", "(`current_timestamp`() > `ts`)"),
        (
            "exists(tags, t -> t IS NULL)",
            "`exists`(`Tags`, `t` -> (`t` IS NULL))",
        ),
        (
            "aggregate(tags, 0, (acc, t) -> acc + t)",
            "`aggregate`(`Tags`, 0, (`acc`, `t`) -> (`acc` + `t`))",
        ),
        ("array(1, 2)", "`array`(1, 2)"),
        ("if(id = 1, 'a', 'b')", "`if`((`id` = 1), 'a', 'b')"),
        ("floor(id)", "`floor`(`id`)"),
        ("left(s, 3)", "`left`(`s`, 3)"),
        ("X'00ff'", "X'00ff'"),
        ("-128Y", "CAST((-128) AS TINYINT)"),
        ("-TRY_CAST(128 AS INT)", "(-TRY_CAST(128 AS INT))"),
        ("'it''s ${env:HOME} $x'", "'it\\'s \\u0024{env:HOME} $x'"),
        ("id = 7 IS NULL", "((`id` = 7) IS NULL)"),
        ("id & 1 | 2 ^ 3", "((`id` & 1) | (2 ^ 3))"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
    }
}

#[test]
fn prints_names_of_functions_as_requested() {
    let columns = ["id".to_owned()];
    for (naming, text, sql, function) in [
        (
            Naming::Qualified,
            "upper('a')",
            "system.builtin.`upper`('a')",
            "upper",
        ),
        (
            Naming::Qualified,
            "id NOT BETWEEN 1 AND 2",
            "(NOT system.builtin.`between`(`id`, 1, 2))",
            "between",
        ),
        (
            Naming::Bare,
            "id NOT BETWEEN 1 AND 2",
            "(`id` NOT BETWEEN 1 AND 2)",
            "between",
        ),
    ] {
        let printed = for_spark(text, "the rule", &columns, naming).unwrap();
        assert_eq!(printed.sql, sql);
        assert_eq!(printed.functions, [function.to_owned()].into());
    }
}

#[test]
fn rejects_functions_and_syntax_that_are_not_allowed() {
    for (text, named) in [
        (
            "java_method('java.lang.System', 'exit', 1)",
            "the function \"java_method\"",
        ),
        (
            "id > 0 AND coalesce(reflect('a', 'b'), '') = ''",
            "the function \"reflect\"",
        ),
        ("TRY_REFLECT('a', 'b')", "TRY_REFLECT"),
        ("`java_method`('a', 'b')", "java_method"),
        ("transform(tags, x -> java_method('a', 'b'))", "java_method"),
        ("(SELECT max(value) FROM text.`/etc/passwd`)", ""),
        ("id IN (SELECT 1)", ""),
        ("EXISTS (SELECT 1)", ""),
        ("my_function(id)", "the function \"my_function\""),
        ("spark_catalog.default.f(id)", "spark_catalog.default.f"),
        ("system.session.abs(id)", "system.session.abs"),
        ("rand() < 2", "rand"),
        ("uuid()", "uuid"),
        ("current_user()", "current_user"),
        ("current_user", "current_user"),
        ("input_file_name()", "input_file_name"),
        ("from_xml(s, 'a INT')", "from_xml"),
        ("sum(id)", "sum"),
        ("abs(DISTINCT id)", "abs"),
        ("abs(id) OVER ()", "abs"),
        ("abs(id) FILTER (WHERE id > 0)", "abs"),
        ("secret('scope', 'key')", "secret"),
        ("session.variable", "session"),
        ("nothing", "nothing"),
        ("`${env:HOME}`", "${"),
        ("*", ""),
        ("id; DROP TABLE x", ""),
        ("id) OR (1=1", ""),
        ("", ""),
        ("CAST(id AS INTERVAL DAY)", ""),
        ("id = NOT true", ""),
        // for Spark, these are names
        ("1e5L", "the number \"1e5L\""),
        ("1.5L", "the number \"1.5L\""),
        ("(1).a", "a part of a literal"),
        ("((1.5))['a']", "a part of a literal"),
        (":parameter", ""),
        ("?", ""),
        ("@x", ""),
        ("id -> 1", ""),
    ] {
        let displayed = printed(text);
        assert!(
            displayed.starts_with("refused: ") && displayed.contains(named),
            "{text}: {displayed}"
        );
    }
}

#[test]
fn long_sums_are_flat_and_deep_nesting_is_rejected() {
    let sum = vec!["x"; 400].join(" + ");
    assert_eq!(printed(&sum).matches('(').count(), 1);
    let deep = format!("{}id{}", "abs(".repeat(60), ")".repeat(60));
    assert!(printed(&deep).starts_with("refused: "));
    assert!(printed(&"NOT ".repeat(5_000)).starts_with("refused: "));
}

#[test]
fn functions_and_units_are_sorted() {
    assert!(functions::ALLOWED.is_sorted());
    assert!(functions::UNITS.is_sorted());
}
