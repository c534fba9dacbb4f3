//! The sources included here have a small form for model checkers.
fn main() {
    println!("cargo:rustc-check-cfg=cfg(loom)");
    println!("cargo:rustc-check-cfg=cfg(shuttle)");
    println!("cargo:rustc-cfg=loom");
}
