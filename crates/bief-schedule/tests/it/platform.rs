//! Cores as a command line names them, and platforms beside profiles.

use bief_schedule::{CoreKind, ErrorKind, Platform, Profile, TaskProfile};

fn one_kind() -> Profile {
    Profile::new(["cpu"], [TaskProfile::replicable("t", [1])]).unwrap()
}

fn two_kinds() -> Profile {
    Profile::new(["big", "little"], [TaskProfile::replicable("t", [1, 2])]).unwrap()
}

#[test]
fn cores_are_read_as_a_number_or_by_kind() {
    for (spec, cores) in [("4", 4), (" 4 ", 4), ("cpu=4", 4), (" cpu = 4 ", 4), ("16000", 16000)] {
        assert_eq!(Platform::parse_cores(spec, &one_kind()).unwrap().kinds(), [CoreKind::new("cpu", cores)]);
    }
    for (spec, big, little) in
        [("big=4,little=8", 4, 8), ("little=8,big=4", 4, 8), ("big=4", 4, 0), ("little=8, big=0", 0, 8)]
    {
        let platform = Platform::parse_cores(spec, &two_kinds()).unwrap();
        assert_eq!(platform.kinds(), [CoreKind::new("big", big), CoreKind::new("little", little)]);
    }
}

#[test]
fn cores_that_cannot_be_read_are_refused_with_the_remedy() {
    let one = [
        ("", "`` is no number of cores: write an integer, for example `4`"),
        ("four", "`four` is no number of cores: write an integer, for example `4`"),
        ("-4", "`-4` is no number of cores: write an integer, for example `4`"),
        ("0", "no core at all: give at least one kind a core"),
        ("16001", "16001 cores of kind `cpu`: at most 16000 are possible"),
        ("big=4", "the profile has no kind `big`, only cpu: write for example `cpu=4`"),
    ];
    let two = [
        ("4", "the profile has 2 kinds of cores (big, little): write for example `big=4,little=4`"),
        ("big=4,8", "`8` is not KIND=N: write for example `big=4,little=4`"),
        ("big=4,", "`` is not KIND=N: write for example `big=4,little=4`"),
        ("big=x", "`x` is no number of cores: write an integer, for example `big=4,little=4`"),
        ("big=1,huge=2", "the profile has no kind `huge`, only big, little: write for example `big=4,little=4`"),
        ("big=1,big=2", "`big` is named twice: name each kind once"),
        ("big=0,little=0", "no core at all: give at least one kind a core"),
    ];
    let cases = one.map(|case| (one_kind(), case)).into_iter().chain(two.map(|case| (two_kinds(), case)));
    for (profile, (spec, reason)) in cases {
        let error = Platform::parse_cores(spec, &profile).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Platform);
        assert_eq!(error.to_string(), format!("cores `{spec}`: {reason}"));
    }
}

#[test]
fn a_platform_is_matched_to_the_kinds_of_a_profile_by_name() {
    let platform = Platform::new([CoreKind::new("little", 8), CoreKind::new("npu", 0)]).unwrap();
    assert_eq!(platform.cores_for(&two_kinds()).unwrap(), [0, 8]);
    assert_eq!(platform.cores("little"), 8);
    let error = platform.cores_for(&one_kind()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "platform, kinds[0]: the profile has no times for cores of kind `little`, only for cpu: \
         profile the chain on them, or give the kind 0 cores"
    );
}
