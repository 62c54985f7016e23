//! Certificates: who has none of the pool's takes no part.

use std::path::{Path, PathBuf};
use std::process::Command;

use bief_zenoh::{Keys, Pool, RUNTIME, Reach, Without};

use crate::chain::{away, here};
use crate::process::{Process, Role, free, reach};
use std::time::Duration;

/// A folder of keys, made by the commands of the book; `None` where there is no OpenSSL.
pub(crate) fn make(folder: &Path, authority: &str, machine: &str) -> Option<PathBuf> {
    let (of_authority, of_machine) = (folder.join(authority), folder.join(format!("{authority}-{machine}")));
    std::fs::create_dir_all(&of_authority).unwrap();
    std::fs::create_dir_all(&of_machine).unwrap();
    let script = format!(
        "set -e
        [ -f {a}/ca.pem ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=pool \
            -keyout {a}/ca.key -out {a}/ca.pem
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={machine} -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
            -keyout {m}/key.pem -out {m}/request.pem
        openssl x509 -req -in {m}/request.pem -CA {a}/ca.pem -CAkey {a}/ca.key -CAcreateserial -days 365 -copy_extensions copy \
            -out {m}/cert.pem
        cp {a}/ca.pem {m}/",
        a = of_authority.display(),
        m = of_machine.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: openssl: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(of_machine)
}

#[test]
fn keys_of_one_authority_are_needed_on_both_sides() {
    let refused = Pool::open(&Reach { keys: None, ..Reach::default() }).map(drop);
    assert!(refused.is_ok(), "without keys the environment does not matter");
    // The variable is one that a process begins with.
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "keys::with_the_variable", "--ignored", "--nocapture"]).env(RUNTIME.0, RUNTIME.1);
    assert!(again.status().unwrap().success());
}

#[test]
#[ignore = "another process of the test above"]
fn with_the_variable() {
    if std::env::var(RUNTIME.0).is_err() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bief-zenoh-keys-{}", std::process::id()));
    let made = ["front", "rack3"].map(|machine| make(&folder, "pool", machine));
    let (Some([front, rack3]), Some(foreign)) = (
        made.into_iter().collect::<Option<Vec<_>>>().map(|made| <[PathBuf; 2]>::try_from(made).unwrap()),
        make(&folder, "foreign", "front"),
    ) else {
        return;
    };
    let (frames, place) = (2000, free());
    let _worker = Process::worker(&Role { name: "rack3", place: place.clone(), keys: Some(&rack3), ..Role::default() });
    let with = |keys: Option<&Path>| Reach { keys: keys.map(|keys| Keys::read(keys).unwrap()), ..reach([&place]) };
    let outcome = away((frames, ""), &with(Some(&front)), Without::Wait(1), |_| {});
    outcome.check("with keys", &here(frames));
    assert_eq!(outcome.tally[0].times, 1, "the link broke");
    for (who, keys) in [("a foreign authority", Some(&*foreign)), ("plain TCP", None)] {
        let pool = Pool::open(&with(keys)).unwrap();
        assert!(pool.workers(Duration::from_secs(2), 1).unwrap().is_empty(), "{who}");
    }
    // The worker is still there.
    assert_eq!(Pool::open(&with(Some(&front))).unwrap().workers(Duration::from_secs(10), 1).unwrap().len(), 1);
    std::fs::write(front.join("key.pem"), "x").unwrap();
    let refused = Keys::read(&front).unwrap_err().to_string();
    assert!(refused.contains("key.pem: this is no PEM"), "{refused}");
    std::fs::remove_file(front.join("key.pem")).unwrap();
    let refused = Keys::read(&front).unwrap_err().to_string();
    assert!(refused.contains("a folder of keys has ca.pem, cert.pem, key.pem"), "{refused}");
    std::fs::remove_dir_all(&folder).unwrap();
}
