//! Tests of the behaviour that all kinds of files have in common, run on each kind.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cohort_vfs::{OpenMode, RealVfs, SimulatedVfs, SlowedVfs, Vfs};

/// Runs a test on each kind, in an empty directory.
fn on_each_kind(test: impl Fn(&dyn Vfs, &Path)) {
    let real = tempfile::tempdir().unwrap();
    test(&RealVfs::new(), real.path());
    let slowed = tempfile::tempdir().unwrap();
    test(&SlowedVfs::new(Arc::new(RealVfs::new()), Duration::from_micros(50)), slowed.path());
    let simulated = SimulatedVfs::new(1);
    simulated.create_dir_all(Path::new("/some/dir")).unwrap();
    test(&simulated, Path::new("/some/dir"));
}

fn kind_of<T>(result: std::io::Result<T>) -> ErrorKind {
    result.map(|_| ()).unwrap_err().kind()
}

#[test]
fn a_file_keeps_what_is_written_where_it_is_written() {
    on_each_kind(|vfs, dir| {
        let path = dir.join("file");
        let file = vfs.open(&path, OpenMode::CreateNew).unwrap();
        assert_eq!(file.len().unwrap(), 0);
        file.write_all_at(b"hello", 0).unwrap();
        file.write_all_at(b"world", 10).unwrap();
        assert_eq!(file.len().unwrap(), 15);
        let mut bytes = [9; 20];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 15);
        assert_eq!(&bytes[..15], b"hello\0\0\0\0\0world");
        assert_eq!(file.read_at(&mut bytes, 15).unwrap(), 0);
        assert_eq!(file.read_at(&mut bytes, 1000).unwrap(), 0);
        assert_eq!(kind_of(file.read_exact_at(&mut bytes, 0)), ErrorKind::UnexpectedEof);
        file.read_exact_at(&mut bytes[..5], 10).unwrap();
        assert_eq!(&bytes[..5], b"world");
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        let again = vfs.open(&path, OpenMode::Read).unwrap();
        assert_eq!(again.len().unwrap(), 15);
        assert!(again.write_all_at(b"no", 0).is_err());
    });
}

#[test]
fn lengths_are_cut_and_extended_with_zeros() {
    on_each_kind(|vfs, dir| {
        let file = vfs.open(&dir.join("file"), OpenMode::Create).unwrap();
        file.write_all_at(&[1; 100], 0).unwrap();
        file.set_len(50).unwrap();
        file.set_len(80).unwrap();
        let mut bytes = [9; 100];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 80);
        assert!(bytes[..50].iter().all(|byte| *byte == 1) && bytes[50..80].iter().all(|byte| *byte == 0));
        file.allocate_zeroed(1 << 20).unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
        assert_eq!(file.read_at(&mut bytes, (1 << 20) - 100).unwrap(), 100);
        assert_eq!(bytes, [0; 100]);
        file.read_exact_at(&mut bytes[..1], 49).unwrap();
        assert_eq!(bytes[0], 1);
        file.allocate_zeroed(10).unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
    });
}

#[test]
fn modes_of_opening_differ_in_what_must_exist() {
    on_each_kind(|vfs, dir| {
        let path = dir.join("file");
        assert_eq!(kind_of(vfs.open(&path, OpenMode::Read)), ErrorKind::NotFound);
        assert_eq!(kind_of(vfs.open(&path, OpenMode::ReadWrite)), ErrorKind::NotFound);
        assert_eq!(kind_of(vfs.open(&dir.join("missing/file"), OpenMode::Create)), ErrorKind::NotFound);
        vfs.open(&path, OpenMode::Create).unwrap().write_all_at(b"kept", 0).unwrap();
        assert_eq!(kind_of(vfs.open(&path, OpenMode::CreateNew)), ErrorKind::AlreadyExists);
        assert_eq!(vfs.open(&path, OpenMode::Create).unwrap().len().unwrap(), 4);
        let synced = vfs.open_datasync(&path, OpenMode::ReadWrite).unwrap();
        synced.write_all_at(b"K", 0).unwrap();
        let mut bytes = [0; 4];
        vfs.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"Kept");
    });
}

#[test]
fn names_come_and_go() {
    on_each_kind(|vfs, dir| {
        let below = dir.join("a/b");
        vfs.create_dir_all(&below).unwrap();
        vfs.create_dir_all(&below).unwrap();
        for name in ["two", "one", "three"] {
            vfs.open(&below.join(name), OpenMode::CreateNew).unwrap().write_all_at(name.as_bytes(), 0).unwrap();
        }
        assert_eq!(vfs.list_dir(&below).unwrap(), ["one", "three", "two"]);
        vfs.rename(&below.join("one"), &below.join("two")).unwrap();
        vfs.rename(&below.join("three"), &dir.join("moved")).unwrap();
        assert_eq!(vfs.list_dir(&below).unwrap(), ["two"]);
        assert_eq!(vfs.list_dir(dir).unwrap(), ["a", "moved"]);
        assert_eq!(vfs.open(&below.join("two"), OpenMode::Read).unwrap().len().unwrap(), 3);
        assert_eq!(kind_of(vfs.rename(&below.join("one"), &below.join("two"))), ErrorKind::NotFound);
        assert_eq!(kind_of(vfs.remove_file(&below.join("one"))), ErrorKind::NotFound);
        vfs.sync_dir(&below).unwrap();
        assert_eq!(kind_of(vfs.sync_dir(&dir.join("missing"))), ErrorKind::NotFound);

        let open = vfs.open(&below.join("two"), OpenMode::ReadWrite).unwrap();
        vfs.remove_file(&below.join("two")).unwrap();
        open.write_all_at(b"still", 0).unwrap();
        assert_eq!(open.len().unwrap(), 5);
        assert!(!vfs.exists(&below.join("two")) && vfs.exists(&below));
        vfs.remove_dir_all(&dir.join("a")).unwrap();
        vfs.remove_dir_all(&dir.join("a")).unwrap();
        assert!(!vfs.exists(&dir.join("a")));
        assert_eq!(kind_of(vfs.list_dir(&below)), ErrorKind::NotFound);
    });
}

#[test]
fn a_data_directory_has_one_owner_at_a_time() {
    on_each_kind(|vfs, dir| {
        let path: PathBuf = dir.join("lock");
        let lock = vfs.lock_exclusive(&path).unwrap();
        assert_eq!(kind_of(vfs.lock_exclusive(&path)), ErrorKind::WouldBlock);
        drop(lock);
        drop(vfs.lock_exclusive(&path).unwrap());
    });
}

#[test]
fn clocks_go_on_and_sleeping_moves_them() {
    on_each_kind(|vfs, _| {
        let before = vfs.now_micros();
        vfs.sleep(Duration::from_millis(3));
        assert!(vfs.now_micros() >= before + 3000);
    });
}

#[test]
fn a_slowed_sync_takes_its_time_and_one_goes_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let latency = Duration::from_millis(3);
    let slowed = Arc::new(SlowedVfs::new(Arc::new(RealVfs::new()), latency));
    let file = slowed.open(&dir.path().join("file"), OpenMode::Create).unwrap();
    let synced = slowed.open_datasync(&dir.path().join("file"), OpenMode::ReadWrite).unwrap();
    let time = |f: &dyn Fn()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    assert!(time(&|| file.sync_data().unwrap()) >= latency);
    assert!(time(&|| file.sync_all().unwrap()) >= latency);
    assert!(time(&|| slowed.sync_dir(dir.path()).unwrap()) >= latency);
    assert!(time(&|| synced.write_all_at(b"x", 0).unwrap()) >= latency);
    let both = time(&|| {
        std::thread::scope(|scope| {
            (0..4).for_each(|_| {
                scope.spawn(|| file.sync_data().unwrap());
            });
        });
    });
    assert!(both >= 4 * latency);
    slowed.set_sync_latency(Duration::ZERO);
    assert!((0..20).any(|_| time(&|| file.sync_data().unwrap()) < latency));
}

#[test]
fn a_real_fail_stop_aborts_the_process_with_its_message() {
    use std::os::unix::process::ExitStatusExt;
    const MARK: &str = "FAIL_STOP_IN_THIS_PROCESS";
    if std::env::var_os(MARK).is_some() {
        RealVfs::new().fail_stop("could not sync the log");
    }
    let name = "a_real_fail_stop_aborts_the_process_with_its_message";
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(MARK, "1")
        .output()
        .unwrap();
    assert_eq!(ended.status.signal(), Some(6));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("PANIC:  could not sync the log"));
}

/// How precise it is, printed: `cargo test -p cohort-vfs --test alike precise -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn how_precise_a_slowed_sync_is() {
    let disk = SimulatedVfs::new(1);
    for latency_us in [50, 100, 500, 2000] {
        let slowed = SlowedVfs::new(Arc::new(disk.clone()), Duration::from_micros(latency_us));
        let file = slowed.open(Path::new("/file"), OpenMode::Create).unwrap();
        let start = Instant::now();
        (0..500).for_each(|_| file.sync_data().unwrap());
        println!("{latency_us} us: {:.1} us", start.elapsed().as_micros() as f64 / 500.0);
    }
}
