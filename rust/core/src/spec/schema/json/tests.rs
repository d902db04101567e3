use super::*;

#[test]
fn to_json_is_the_inverse_of_parse() {
    let fields = [
        r#""string""#,
        r#""decimal(10,2)""#,
        r#""timestamp_ntz""#,
        r#""void""#,
        r#""variant""#,
        r#""interval day to second""#,
        r#""geometry(OGC:CRS84)""#,
        r#"{"type":"array","elementType":"long","containsNull":false}"#,
        r#"{"type":"map","keyType":"string","valueType":{"type":"struct","fields":[]},"valueContainsNull":true}"#,
    ];
    for field in fields {
        let text = format!(
            r#"{{"type":"struct","fields":[{{"name":"c","type":{field},"nullable":false,"metadata":{{"comment":"é","n":3}}}}]}}"#
        );
        let parsed = StructType::parse(&text).unwrap();
        assert_eq!(
            StructType::parse(&parsed.to_json()).unwrap(),
            parsed,
            "{text}"
        );
    }
}
