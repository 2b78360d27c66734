//! `kernel port --build`, with a fake program called `make`.

mod program;

use program::sources::{MISPLACED, TEXT, git, write};
use program::{Lab, json, wait_until};
use schedlab_sys::signal::{SIGINT, SIGTERM, kill};

/// A tree that is built by a fake `make`: configuring does nothing, and compiling succeeds if no file contains the word
/// BROKEN. The test provides the compiler's messages and the written files.
fn tree_with_make(lab: &Lab) {
    for file in ["Makefile", "Kconfig", "kernel/sched/core.c"] {
        write(lab, &format!("tree/{file}"), b"int core;\n");
    }
    write(lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(lab, "tree/kernel/unused.c", TEXT.as_bytes());
    let make = "#!/bin/sh
for word; do case $word in O=*) out=${word#O=};; */source) source=$word;; esac; last=$word; done
echo \"$last\" >> $LAB/asked
case $last in
tinyconfig|olddefconfig) : > $out/.config;;
bzImage)
  # A compiler that runs on, and has ignored the first word to end.
  if [ -e $LAB/endless ]; then
    (trap '' TERM; sleep 1000 & echo $! > $LAB/compiler.new; mv $LAB/compiler.new $LAB/compiler; wait) &
    wait
  fi
  if grep -q BROKEN $source/kernel/x.c; then
    echo \"$source/kernel/x.c: In function 'second':\" >&2
    echo \"$source/kernel/x.c:12:6: error: implicit declaration of function 'recompute' [-Werror=implicit-function-declaration]\" >&2
    exit 2
  fi
  mkdir -p $out/kernel; echo \"deps_kernel/x.o := $source/kernel/x.c\" > $out/kernel/.x.o.cmd;;
esac
";
    for tool in ["gcc", "flex", "bison", "bc", "xz"] {
        write(lab, &format!("bin/{tool}"), b"#!/bin/sh\n");
    }
    let make = write(lab, "bin/make", make.as_bytes());
    std::fs::set_permissions(make, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_series_is_compiled_patch_after_patch_up_to_the_first_that_fails() {
    let lab = Lab::new("kernel-port-build");
    tree_with_make(&lab);
    let patch = |n: u32, file: &str, to: &str| {
        format!(
            "Subject: [PATCH] number {n}\n\n--- a/kernel/{file}\n+++ b/kernel/{file}\n@@ -1,4 +1,4 @@\n int first(int x)\n {{\n-\tlock(x);\n+\t{to}(x);\n \tx = compute(x);\n"
        )
    };
    let broken = MISPLACED.replace("recompute", "BROKEN").replace("-3,4 +3,4", "-11,4 +11,4");
    write(&lab, "q/1.patch", patch(1, "unused.c", "latch").as_bytes());
    write(&lab, "q/2.patch", patch(2, "x.c", "latch").as_bytes());
    write(&lab, "q/3.patch", format!("Subject: three\n\n--- a/kernel/x.c\n+++ b/kernel/x.c\n{broken}").as_bytes());
    write(&lab, "q/4.patch", patch(4, "unused.c", "never").replace("lock(x)", "latch(x)").as_bytes());
    // An executable script and a link: both are in the copy as the patch says.
    let script = "diff --git a/scripts/s.sh b/scripts/s.sh\nnew file mode 100755\n--- /dev/null\n+++ b/scripts/s.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
    let link = "diff --git a/scripts/l b/scripts/l\nnew file mode 120000\n--- /dev/null\n+++ b/scripts/l\n@@ -0,0 +1 @@\n+s.sh\n\\ No newline at end of file\n";
    let first = std::fs::read_to_string(lab.path("q/1.patch")).unwrap();
    write(&lab, "q/1.patch", [&first, script, link].concat().as_bytes());
    let path = format!("{}:{}", lab.path("bin"), std::env::var("PATH").unwrap());
    let port = |more: &[&str]| -> program::Ran {
        let mut command = program::command();
        command.args(["kernel", "port", &lab.path("q"), "--onto", &lab.path("tree"), "--build"]).args(more);
        command.env("PATH", &path).env("LAB", lab.path("")).env("SCHEDLAB_CACHE", lab.path("cache"));
        command.output().unwrap().into()
    };
    let would = port(&["--dry-run"]).success();
    assert!(
        would.stderr.contains("would compile") && would.stderr.contains("with each of 4 patches"),
        "{}",
        would.stderr
    );
    assert!(!std::path::Path::new(&lab.path("asked")).exists(), "nothing is made");
    let ran = port(&["--json", &lab.path("found")]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.stdout, ran.stderr);
    for line in [
        "    1 compiles  number 1\n      not compiled by this configuration: kernel/unused.c\n    2 compiles  number 2\n",
        "    3 does not compile  three\n      kernel/x.c:12 second: implicit declaration of function 'recompute'",
        "      it needs: function recompute\n",
        "built: 2 of 4 patches compile, 1 not tried\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    let source = std::fs::read_dir(lab.path("cache/builds")).unwrap().next().unwrap().unwrap().path().join("source");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(source.join("scripts/s.sh")).unwrap().permissions());
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(std::fs::read_link(source.join("scripts/l")).unwrap().to_str(), Some("s.sh"));
    let asked = std::fs::read_to_string(lab.path("asked")).unwrap();
    assert_eq!(asked.lines().filter(|line| *line == "bzImage").count(), 4, "the tree, and three patches: {asked}");
    let found = std::fs::read_to_string(lab.path("found")).unwrap();
    let steps: Vec<_> = found.lines().map(json).filter(|line| line["build"].is_string()).collect();
    let states: Vec<&str> = steps.iter().map(|step| step["build"].as_str().unwrap()).collect();
    assert_eq!(states, ["compiled", "compiled", "failed"]);
    assert_eq!(steps[0]["not_compiled"][0], "kernel/unused.c");
    assert_eq!(
        (&steps[2]["needs"][0]["kind"], &steps[2]["needs"][0]["name"]),
        (&"function".into(), &"recompute".into())
    );
    assert_eq!((&steps[2]["errors"][0]["line"], &steps[2]["errors"][0]["function"]), (&12.into(), &"second".into()));
    assert_eq!(std::fs::read_to_string(lab.path("tree/kernel/x.c")).unwrap(), TEXT, "the tree stays as it is");
    // If only the compiler missed a name, the JSON names the commit that added it.
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    git(&lab, "", &["init", "-q", &lab.path("from")]);
    let commit = |file: &str, text: &[u8]| {
        write(&lab, file, text);
        git(&lab, "from", &["add", "-A"]);
        git(&lab, "from", &["commit", "-qm", file]);
        git(&lab, "from", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit("from/kernel/x.c", TEXT.as_bytes());
    let brought = commit("from/kernel/r.h", b"int recompute(int);\n");
    commit("from/kernel/other.h", b"int other(int);\n");
    let from = lab.path("from");
    port(&["--from", &from, "--json", &lab.path("found2")]).failure();
    let found = std::fs::read_to_string(lab.path("found2")).unwrap();
    let failed = found.lines().map(json).find(|line| line["build"] == "failed").unwrap();
    let commits: Vec<_> = failed["needs"].as_array().unwrap().iter().filter(|need| need["kind"] == "commit").collect();
    assert_eq!((commits.len(), &commits[0]["name"]), (1, &brought.into()), "{failed}");
    // A tree that does not compile without patches is reported as such; an unknown workload is refused before that.
    write(&lab, "tree/kernel/x.c", TEXT.replace("unlock", "BROKEN").as_bytes());
    let ran = port(&[]).failure();
    assert!(ran.stderr.contains("the tree does not compile without the series"), "{}", ran.stderr);
    assert!(ran.stdout.contains("hunks of 4 patches"), "what was rehearsed is shown: {}", ran.stdout);
    let ran = port(&["--boot", "no-such-workload"]).failure();
    assert!(ran.stderr.contains("no-such-workload"), "{}", ran.stderr);
}

/// A build that is told to end leaves no compiler and no kernel behind, and prints how to continue.
#[test]
fn a_build_that_is_told_to_end_ends_its_compilers_and_can_go_on() {
    let lab = Lab::new("kernel-build-told");
    tree_with_make(&lab);
    let patch = "Subject: one\n\n--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,4 +1,4 @@\n int first(int x)\n {\n-\tlock(x);\n+\tlatch(x);\n \tx = compute(x);\n";
    write(&lab, "one.patch", patch.as_bytes());
    let path = format!("{}:{}", lab.path("bin"), std::env::var("PATH").unwrap());
    let command = |words: &[&str]| {
        let mut command = program::command();
        command.args(words).env("PATH", &path).env("LAB", lab.path("")).env("SCHEDLAB_CACHE", lab.path("cache"));
        command
    };
    let (series, tree) = (lab.path("one.patch"), lab.path("tree"));
    let port = ["kernel", "port", &series, "--onto", &tree, "--build"];
    let build = ["vm", "build", &tree, "--name", "told"];
    write(&lab, "endless", b"");
    for (words, signal, code) in [(&port[..], SIGTERM, 143), (&build, SIGINT, 130)] {
        let mut child = command(words);
        let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let compiler = lab.path("compiler");
        wait_until("a compiler runs", || std::fs::exists(&compiler).unwrap());
        let pid: u32 = std::fs::read_to_string(&compiler).unwrap().trim().parse().unwrap();
        kill(child.id(), signal).unwrap();
        let ran: program::Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, code, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("interrupted; what is compiled is kept"), "{words:?}: {}", ran.stderr);
        assert!(words[0] != "kernel" || ran.stdout.contains("1 hunk of 1 patch"), "it was rehearsed: {}", ran.stdout);
        // It was killed, and ends when it next gets a CPU; its new parent may not have waited for it yet.
        wait_until("the compiler ends", || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            matches!(state.rsplit_once(") ").map_or("", |(_, rest)| &rest[..1]), "" | "Z" | "X")
        });
        let kernels = std::fs::read_dir(lab.path("cache/kernels")).map_or(0, Iterator::count);
        assert_eq!(kernels, 0, "{words:?}");
        std::fs::remove_file(compiler).unwrap();
    }
    // The same command continues: no lock or file is in the way.
    std::fs::remove_file(lab.path("endless")).unwrap();
    std::fs::remove_file(lab.path("asked")).unwrap();
    let ran: program::Ran = command(&port).output().unwrap().into();
    let asked = std::fs::read_to_string(lab.path("asked")).unwrap();
    assert_eq!(asked.lines().filter(|line| *line == "bzImage").count(), 2, "the tree, and the patch: {}", ran.stderr);
}
