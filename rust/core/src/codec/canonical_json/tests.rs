use super::*;

fn canonical(json: &str) -> String {
    CanonicalJson::parse(json, "x").unwrap().text()
}

/// The example of the protocol text, with its checksum.
#[test]
fn example_of_the_protocol() {
    let json = r#"{"k0":"'v 0'","checksum":"adsaskfljadfkjadfkj","k1":{"k2":2,"k3":["v3",[1,2],{"k4":"v4","k5":["v5","v6","v7"]}]}}"#;
    let form = CanonicalJson::parse(json, "x").unwrap();
    assert_eq!(
        form.text(),
        r#""k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7""#
    );
    assert!(form.matches("6a92d155a59bf2eecbd4b4ec7fd1f875"));
    assert!(!form.matches("6a92d155a59bf2eecbd4b4ec7fd1f876"));
}

#[test]
fn canonical_text_follows_the_rules_of_the_protocol() {
    for (json, text) in [
        // literals and numbers are kept as written
        (
            r#"{"b":true,"a":-1.50e+3,"c":null,"d":false}"#,
            r#""a"=-1.50e+3,"b"=true,"c"=null,"d"=false"#,
        ),
        // percent-encoded UTF-8 in upper case, unreserved characters unchanged
        (
            r#"{"é/+":"a-Z._~9 \n\u00e9"}"#,
            r#""%C3%A9%2F%2B"="a-Z._~9%20%0A%C3%A9""#,
        ),
        // only the top-level checksum is excluded
        (
            r#"{"checksum":{"x":1},"a":{"checksum":2}}"#,
            r#""a"+"checksum"=2"#,
        ),
        // empty objects and arrays have no entry
        (r#"{"a":{},"b":[],"c":[[],{}],"d":1}"#, r#""d"=1"#),
        ("{}", ""),
        // a name sorts before longer names that begin with it
        (r#"{"ab":1,"a":{"b":2}}"#, r#""a"+"b"=2,"ab"=1"#),
    ] {
        assert_eq!(canonical(json), text, "{json}");
    }
}

/// With more than ten elements, the two orders differ for `+1=` and `+10=`.
#[test]
fn checksums_of_both_sort_orders_match() {
    let json = format!(r#"{{"a":[{}]}}"#, ["0"; 11].join(","));
    let form = CanonicalJson::parse(&json, "x").unwrap();
    let indices = |order: [usize; 11]| order.map(|index| format!("\"a\"+{index}=0")).join(",");
    let by_path = indices([0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]);
    let by_entry = indices([0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(form.text(), by_path);
    assert!(form.matches(&md5_hex(&by_path)) && form.matches(&md5_hex(&by_entry)));
    assert!(!form.matches(&md5_hex(&indices([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))));
}

/// RFC 1321, A.5.
#[test]
fn md5_of_the_rfc_test_suite() {
    assert_eq!(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(
        md5_hex("message digest"),
        "f96b697d7cb7938d525a2f31aaf161d0"
    );
}

#[test]
fn invalid_json_is_refused_with_its_offset() {
    for json in [
        "",
        "[]",
        "1",
        r#"{"a":1,"a":2}"#,
        r#"{"a":{"b":1,"b":1}}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"checksum":"x","checksum":"y"}"#,
        r#"{"a":1"#,
        r#"{"a":1} {}"#,
    ] {
        let error = CanonicalJson::parse(json, "x").err().unwrap();
        assert_eq!(error.code(), "x");
        assert!(error.offset().is_some(), "{json}");
    }
    let deep = format!(r#"{{"a":{}"#, "[".repeat(1_000_000));
    assert!(CanonicalJson::parse(&deep, "x").is_err());
}

#[test]
fn a_canonical_form_over_64_mib_is_refused() {
    let json = format!(r#"{{"{}":[{}1]}}"#, "k".repeat(1 << 20), "1,".repeat(1_000));
    let error = CanonicalJson::parse(&json, "x").err().unwrap();
    assert!(error.to_string().contains("64 MiB"), "{error}");
}
