use super::*;

fn file(path: &str, cube: Option<&str>, columns: &str, size: i64) -> AddFile {
    let tags = cube.map(|cube| {
        StringMap::from([
            (CUBE_TAG.to_owned(), Some(cube.to_owned())),
            (COLUMNS_TAG.to_owned(), Some(columns.to_owned())),
        ])
    });
    AddFile {
        path: path.to_owned(),
        size,
        clustering_provider: cube.map(|_| PROVIDER.to_owned()),
        tags,
        ..AddFile::default()
    }
}

fn paths_of_bins(files: Vec<AddFile>) -> Vec<Vec<String>> {
    paths(files, false)
}

fn paths_of_full_bins(files: Vec<AddFile>) -> Vec<Vec<String>> {
    paths(files, true)
}

fn paths(files: Vec<AddFile>, full: bool) -> Vec<Vec<String>> {
    let bins = Cubes::new(vec!["a".to_owned()], full).bins(files);
    let paths = |bin: Bin| bin.files.into_iter().map(|file| file.path).collect();
    bins.into_iter().map(paths).collect()
}

#[test]
fn small_cubes_and_new_files_are_clustered_together() {
    let own = r#"["a"]"#;
    let (first, second) = (file("1", Some("x"), own, 5), file("2", Some("x"), own, 5));
    assert!(paths_of_bins(vec![first.clone(), second.clone()]).is_empty());
    let new = file("3", None, "", 5);
    assert_eq!(
        paths_of_bins(vec![first.clone(), second, new.clone()]),
        [["3", "1", "2"]]
    );
    let large = file("4", Some("y"), own, 100 << 30);
    assert_eq!(paths_of_bins(vec![large.clone(), new.clone()]), [["3"]]);
    assert!(paths_of_bins(vec![large]).is_empty());
    let others = file("5", Some("z"), r#"["b"]"#, 5);
    assert_eq!(paths_of_bins(vec![others, new, first]), [["3", "1"]]);
}

#[test]
fn a_full_run_clusters_the_files_of_other_columns_and_providers_again() {
    let own = r#"["a"]"#;
    let first = file("1", Some("x"), own, 5);
    let large = file("2", Some("y"), own, 100 << 30);
    let others = file("3", Some("z"), r#"["b"]"#, 100 << 30);
    let provider = AddFile {
        clustering_provider: Some("other".to_owned()),
        ..file("4", None, "", 5)
    };
    let files = vec![first.clone(), large.clone(), others, provider];
    assert!(paths_of_bins(files.clone()).is_empty());
    assert_eq!(paths_of_full_bins(files), [["1", "3", "4"]]);
    assert!(paths_of_full_bins(vec![first, large]).is_empty());
}
