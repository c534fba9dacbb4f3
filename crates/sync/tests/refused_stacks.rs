//! A system that has no room for stacks. The refusal applies to the whole process, so this file has one test.

use cohort_sync::{Arc, Coroutine, ReadyQueue, StackPool, Step, on_further_stack, refuse_new_stacks};

#[test]
fn without_room_for_a_stack_there_is_an_error_and_nothing_has_run() {
    let pool = StackPool::new(128 << 10, 1);
    let queue = Arc::new(ReadyQueue::new(|| ()));
    drop(Coroutine::new(&pool, Arc::clone(&queue), 1, || ()));
    refuse_new_stacks(true);
    // A stack that was given back is used again.
    let mut inside = Coroutine::new(&pool, Arc::clone(&queue), 2, || {
        let refused = on_further_stack(|| unreachable!("there is no stack to run on"));
        assert!(refused.is_err());
    });
    assert!(Coroutine::try_new(&pool, Arc::clone(&queue), 3, || unreachable!("it never runs")).is_err());
    assert_eq!(inside.resume(), Step::Finished(()));
    refuse_new_stacks(false);
    assert_eq!(on_further_stack(|| 1).unwrap(), 1);
}
