use super::*;

fn options(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn knows_the_keys_of_each_store_in_either_case() {
    for (kind, key) in [
        (StoreKind::S3, "AWS_ACCESS_KEY_ID"),
        (StoreKind::S3, "region"),
        (StoreKind::S3, "aws_allow_http"),
        (StoreKind::S3, "Timeout"),
        (StoreKind::S3, "AWS_S3_ALLOW_UNSAFE_RENAME"),
        (StoreKind::Azure, "azure_storage_account_name"),
        (StoreKind::Azure, "SAS_TOKEN"),
        (StoreKind::Gcs, "GOOGLE_SERVICE_ACCOUNT"),
        (StoreKind::Http, "proxy_url"),
        (StoreKind::Http, "allow_http"),
    ] {
        assert!(
            Settings::new(kind, &options(&[(key, "x")])).is_ok(),
            "{kind:?} {key}"
        );
    }
}

#[test]
fn refuses_a_key_that_the_store_lacks_and_shows_no_value() {
    for (kind, key) in [
        (StoreKind::S3, "aws_acces_key_id"),
        (StoreKind::S3, "account_name"),
        (StoreKind::Azure, "aws_region"),
        (StoreKind::Gcs, "sas_token"),
        (StoreKind::Http, "token"),
        (StoreKind::S3, ""),
    ] {
        let error = Settings::new(kind, &options(&[(key, "hunter2")]))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), "options.unknown");
        let text = error.to_string();
        assert!(
            text.contains(&format!("`{key}`")) && !text.contains("hunter2"),
            "{text}"
        );
    }
}

#[test]
fn retries_are_bounded_by_the_options() {
    let argument = options(&[("max_retries", "3"), ("RETRY_TIMEOUT", "250ms")]);
    let settings = Settings::new(StoreKind::S3, &argument).unwrap();
    assert_eq!(settings.retries.max_retries, 3);
    assert_eq!(settings.retries.retry_timeout, Duration::from_millis(250));
    for bad in [("max_retries", "many"), ("retry_timeout", "long")] {
        let error = Settings::new(StoreKind::S3, &options(&[bad]))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), "options.value");
    }
}

#[test]
fn a_duration_is_in_seconds_or_has_a_unit() {
    for (text, expected) in [
        ("10", Some(Duration::from_secs(10))),
        ("10s", Some(Duration::from_secs(10))),
        ("2 m", Some(Duration::from_secs(120))),
        ("", None),
        ("s", None),
        ("-1", None),
        ("1 year", None),
    ] {
        assert_eq!(parse_duration(text), expected, "{text}");
    }
}

#[test]
fn secrets_and_signatures_are_not_shown() {
    let argument = options(&[
        ("aws_access_key_id", "hunter"),
        ("aws_secret_access_key", "hunter2"),
        ("aws_session_token", "t0ken"),
        ("aws_region", "eu-west-1"),
    ]);
    let settings = Settings::new(StoreKind::S3, &argument).unwrap();
    for (text, expected) in [
        ("nothing to hide?", "nothing to hide?"),
        ("signed by hunter2 in eu-west-1", "signed by … in eu-west-1"),
        ("hunter signed", "… signed"),
        (
            "GET https://h/c/t?sv=1&sig=abc%3D in 2s: t0ken",
            "GET https://h/c/t?… in 2s: …",
        ),
        ("(\"https://h/?sig=abc\") why?", "(\"https://h/?…\") why?"),
    ] {
        assert_eq!(settings.redact(text), expected);
    }
}

#[test]
fn an_invalid_value_is_reported_on_first_use() {
    let location = Location::parse("s3://bucket/t").unwrap();
    let argument = options(&[("aws_region", "x"), ("allow_http", "perhaps")]);
    let settings = Settings::new(StoreKind::S3, &argument).unwrap();
    let error = settings.build(&location).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "options.value");
    assert!(error.to_string().contains("perhaps"), "{error}");
}

#[test]
fn a_key_that_may_be_a_secret_is_not_repeated() {
    for key in [
        "SeCrEtAwSkEy0123456789",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sv=2022-11-02&sig=abc%3D",
    ] {
        let error = Settings::new(StoreKind::S3, &options(&[(key, "x")]))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), "options.unknown");
        assert!(!error.to_string().contains(key), "{error}");
    }
}

#[test]
fn users_passwords_and_queries_of_addresses_are_not_shown() {
    let settings = Settings::new(StoreKind::S3, &[]).unwrap();
    for (text, displayed) in [
        (
            "GET http://u:pass@127.0.0.1:1/b/t?list-type=2 in 1 ms",
            "GET http://…@127.0.0.1:1/b/t?… in 1 ms",
        ),
        ("(https://tok@host)", "(https://…@host)"),
        (
            "\"https://h/p?sig=abc\": no answer",
            "\"https://h/p?…\": no answer",
        ),
        (
            "[\"https://h/p?sig=abc\",\"https://u:pass@h/q\"]",
            "[\"https://h/p?…\",\"https://…@h/q\"]",
        ),
        (
            "https://h/p\nhttps://u:pass@h/q",
            "https://h/p\nhttps://…@h/q",
        ),
        (
            "GET http://[::1]:9000/b?headers=a;b,c&sig=abc in 1 ms",
            "GET http://[::1]:9000/b?… in 1 ms",
        ),
        ("abfss://c@a.dfs.core/t", "abfss://c@a.dfs.core/t"),
        (
            "<A>http://h/a</A><B>http://u:pass@h/b?sig=abc</B>",
            "<A>http://h/a</A><B>http://…@h/b?…</B>",
        ),
        (
            "http://h:1,http://tok@h:2\nhttp://h:3?sig=abc",
            "http://h:1,http://…@h:2\nhttp://h:3?…",
        ),
        (
            "http://u:pass@[::1]:9000/t?sig=abc in 1 ms",
            "http://…@[::1]:9000/t?… in 1 ms",
        ),
        ("nothing @ all?", "nothing @ all?"),
    ] {
        assert_eq!(settings.redact(text), displayed);
    }
}

#[test]
fn objects_are_copied_in_parts_in_buckets_of_amazon_only() {
    let s3 = Location::parse("s3://bucket/t").unwrap();
    let condition = |key: AmazonS3ConfigKey, value: &str| {
        let builder = AmazonS3Builder::new().with_config(key, value);
        with_conditional_copy(builder, &s3).get_config_value(&AmazonS3ConfigKey::CopyIfNotExists)
    };
    let region = condition(AmazonS3ConfigKey::Region, "eu-west-1");
    assert_eq!(region.as_deref(), Some("multipart"));
    for key in [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint] {
        assert_eq!(condition(key, "https://store:9000"), None, "{key:?}");
    }
}

#[test]
fn an_endpoint_of_the_options_replaces_those_of_the_environment() {
    let (own, for_s3) = ("https://own:9000", "https://s3:9000");
    for (pairs, expected) in [
        (&[][..], "https://environment"),
        (&[("region", "x"), ("aws_endpoint", own)][..], own),
        (&[("AWS_ENDPOINT_URL", own)][..], own),
        (&[("aws_endpoint_url_s3", for_s3)][..], for_s3),
        (
            &[("aws_endpoint_url_s3", for_s3), ("endpoint", own)][..],
            for_s3,
        ),
    ] {
        let settings = Settings::new(StoreKind::S3, &options(pairs)).unwrap();
        let key = AmazonS3ConfigKey::S3Endpoint;
        let environment = AmazonS3Builder::new().with_config(key, "https://environment");
        let builder = settings.apply(environment, AmazonS3Builder::with_config);
        let endpoint = settings.with_own_endpoint(builder).get_config_value(&key);
        assert_eq!(endpoint.as_deref(), Some(expected), "{pairs:?}");
    }
}

#[test]
fn hdfs_tries_all_name_nodes_even_without_retries() {
    let argument = options(&[("max_retries", "0")]);
    let settings = Settings::new(StoreKind::Hdfs, &argument).unwrap();
    assert_eq!(
        settings.options,
        options(&[("dfs.client.failover.max.attempts", "2")])
    );
}

#[test]
fn refuses_values_from_which_no_request_can_be_built() {
    let location = Location::parse("s3://bucket/t").unwrap();
    for (key, value) in [
        ("aws_access_key_id", "AKIA\n"),
        ("aws_session_token", "t0ken\r\nX-Evil: 1"),
        ("aws_region", "eu\u{e9}"),
        ("aws_access_key_id", "\u{e9}"),
        ("aws_endpoint", "store:9000"),
        ("aws_endpoint", ""),
        ("aws_endpoint", "http://"),
        ("aws_endpoint", "http://a b/"),
        ("user_agent", "a\nb"),
    ] {
        let error = Settings::new(StoreKind::S3, &options(&[(key, value)]))
            .and_then(|settings| settings.build(&location).map(|_| ()))
            .unwrap_err();
        assert_eq!(error.code(), "options.value", "{key} {value:?}");
        let text = error.to_string();
        assert!(value.is_empty() || !text.contains(value.trim()), "{text}");
    }
}

#[test]
fn a_service_account_in_place_of_its_path_is_not_shown() {
    let pasted = options(&[("google_service_account", "{\"private_key\": \"hunter2\"}")]);
    let bucket = Location::parse("gs://bucket/table").unwrap();
    let error = Settings::new(StoreKind::Gcs, &pasted)
        .and_then(|settings| settings.build(&bucket).map(|_| ()))
        .unwrap_err();
    assert_eq!(error.code(), "options.value");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn accepts_the_key_of_a_service_account_and_an_ipv6_address() {
    let key = "{\n  \"type\": \"service_account\"\n}";
    let argument = options(&[("google_service_account_key", key)]);
    assert!(Settings::new(StoreKind::Gcs, &argument).is_ok());
    let location = Location::parse("s3://bucket/t").unwrap();
    let argument = options(&[("aws_endpoint", "http://[::1]:9000/"), ("aws_region", "x")]);
    let settings = Settings::new(StoreKind::S3, &argument).unwrap();
    assert!(settings.build(&location).is_ok());
}
