//! Every public task documents its sockets, errors, source, and an example.

use std::path::Path;

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_task_has_the_four_headings() {
    let mut sources = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
    let mut tasks = 0;
    for path in sources {
        let file = std::fs::read_to_string(&path).unwrap();
        let (text, _tests) = file.split_once("#[cfg(test)]").unwrap_or((&file, ""));
        for (at, _) in text.match_indices(" Task for ") {
            let name: String = text[at + 10..].chars().take_while(char::is_ascii_alphanumeric).collect();
            if text.contains(&format!("pub(crate) struct {name}")) {
                continue;
            }
            let declared = text.find(&format!("pub struct {name}")).expect("a task is public, in the file of its impl");
            let docs = text[..declared].rsplit("\n\n").next().unwrap();
            for heading in ["# Sockets", "# Errors", "# Source", "# Example"] {
                assert!(docs.contains(heading), "{}: `{name}` does not document {heading}", path.display());
            }
            tasks += 1;
        }
    }
    assert!(tasks >= 20, "only {tasks} tasks found");
}
