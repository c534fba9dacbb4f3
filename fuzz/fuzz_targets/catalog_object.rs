//! An object of the catalog, as its rows keep it.
#![no_main]

use schema::catalog::Object;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(object) = postcard::from_bytes::<Object>(bytes) {
        let again = postcard::to_stdvec(&object).expect("what was read can be written");
        let read: Object = postcard::from_bytes(&again).expect("what was written can be read");
        assert_eq!((read.oid(), read.name(), read.files()), (object.oid(), object.name(), object.files()));
    }
});
