//! Sources, patches and checkouts for the tests of `kernel`.

use super::Lab;

pub const TEXT: &str = "int first(int x)\n{\n\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\treturn x;\n}\n\nint second(int x)\n{\n\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\treturn x;\n}\n";
pub const MISPLACED: &str = "@@ -3,4 +3,4 @@ int second(int x)\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \treturn x;\n";

pub fn write(lab: &Lab, path: &str, text: &[u8]) -> String {
    let path = lab.path(path);
    std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs git in a directory of the test, and returns its output.
pub fn git(lab: &Lab, directory: &str, words: &[&str]) -> String {
    let ran = std::process::Command::new("git")
        .args(["-C", &lab.path(directory), "-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args(words)
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}
