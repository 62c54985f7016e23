//! The processor time that control groups leave to a process.

use super::files::Files;

/// Groups within groups that are looked at.
const DEEPEST: usize = 32;

/// The cores that the narrowest quota of all groups of this process keeps busy; `None` where there is no quota.
pub(super) fn quota(files: &mut Files) -> Option<f64> {
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    let mut least: Option<f64> = None;
    for line in groups.lines().take(DEEPEST) {
        // `0::/group` in version 2, `4:cpu,cpuacct:/group` in version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let mounts = match controllers {
            "" => vec!["".to_owned(), "/unified".to_owned()],
            _ if controllers.split(',').any(|controller| controller == "cpu") => {
                vec![format!("/{controllers}"), "/cpu".to_owned()]
            }
            _ => continue,
        };
        for mount in mounts {
            for folder in ancestors(&format!("sys/fs/cgroup{mount}"), group) {
                let share = if controllers.is_empty() { version_2(files, &folder) } else { version_1(files, &folder) };
                least = match (least, share) {
                    (Some(least), Some(share)) => Some(least.min(share)),
                    (least, share) => least.or(share),
                };
            }
        }
    }
    least
}

/// The folder of a group and those of all groups that it is in, up to where the hierarchy is mounted: a container may see its own group
/// there, whatever it is called outside.
fn ancestors(mount: &str, group: &str) -> Vec<String> {
    let mut folders = vec![mount.to_owned()];
    // `..` leads to groups outside the part of the hierarchy that can be seen.
    let names = group.trim_end().split('/').filter(|name| !name.is_empty()).take_while(|&name| name != "..");
    for name in names.take(DEEPEST) {
        folders.push(format!("{}/{name}", folders[folders.len() - 1]));
    }
    folders
}

/// `cpu.max`: microseconds of processor time, or `max`, and the microseconds in which they may be spent.
fn version_2(files: &mut Files, folder: &str) -> Option<f64> {
    let path = format!("{folder}/cpu.max");
    let text = files.text(&path)?;
    let mut fields = text.split_whitespace();
    let (quota, period) = (fields.next(), fields.next().unwrap_or("100000"));
    if quota == Some("max") {
        return None;
    }
    cores(files, &path, quota.unwrap_or(""), period)
}

/// `cpu.cfs_quota_us`, -1 for no quota, and `cpu.cfs_period_us`.
fn version_1(files: &mut Files, folder: &str) -> Option<f64> {
    let path = format!("{folder}/cpu.cfs_quota_us");
    let quota = files.text(&path)?;
    if quota.trim() == "-1" {
        return None;
    }
    let period = files.text(&format!("{folder}/cpu.cfs_period_us"))?;
    cores(files, &path, quota.trim(), period.trim())
}

fn cores(files: &mut Files, path: &str, quota: &str, period: &str) -> Option<f64> {
    let microseconds = |text: &str| text.parse::<u64>().ok().filter(|&time| time > 0).map(|time| time as f64);
    let share = microseconds(quota).zip(microseconds(period)).map(|(quota, period)| quota / period);
    if share.is_none() {
        files.odd(path, "is no quota of processor time");
    }
    share
}
