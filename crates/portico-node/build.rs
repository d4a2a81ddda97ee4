//! Tells the linker how a Node-API add-on is linked.

fn main() {
    napi_build::setup();
}
