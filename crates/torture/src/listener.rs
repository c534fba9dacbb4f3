//! Sessions that listen: each notification comes once, and in the order of the commits.

use std::sync::Arc;
use std::time::Duration;

use crate::session::next_life;
use crate::torture::{Phase, Torture};
use crate::trace::Trace;
use crate::wire::{Trouble, Wire};

/// The notifications that one connection has heard.
struct Heard {
    /// The count of notifications after LISTEN was committed; later ones must come, those before may.
    at_start: i64,
    last: Option<i64>,
}

/// Listens until the run is over.
pub async fn run(torture: Arc<Torture>, number: usize) {
    let trace = Arc::clone(&torture.traces[torture.options.sessions + number]);
    while let Some(life) = next_life(&torture, &trace).await {
        let Ok(wire) = Wire::open(&torture.launch.address(), number.is_multiple_of(2), "").await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        trace.set_pid(wire.pid);
        let trouble = listen(&torture, &trace, wire, life).await.err();
        trace.note(&format!("ended: {trouble:?}"));
    }
    trace.set_parked(true);
}

async fn listen(torture: &Torture, trace: &Trace, mut wire: Wire, life: u64) -> Result<(), Trouble> {
    say(trace, &wire, "listen news").await?;
    let mut heard = Heard { at_start: count(trace, &wire).await?, last: None };
    let mut phase = torture.phase.subscribe();
    // The phase may have changed before this listener began to watch it.
    while *phase.borrow_and_update() == Phase::Working(life) && torture.failure().is_none() {
        tokio::select! {
            notification = wire.notifications.recv() => {
                let Some((_, payload)) = notification else {
                    return Err(Trouble::Lost("the connection has ended".to_owned()));
                };
                hear(torture, &mut heard, &payload);
            }
            _ = phase.changed() => {}
        }
    }
    hear_rest(torture, trace, &mut wire, &mut heard).await
}

/// The sessions come to an end; what they have committed by then must be heard, if the server lives on.
async fn hear_rest(torture: &Torture, trace: &Trace, wire: &mut Wire, heard: &mut Heard) -> Result<(), Trouble> {
    let sessions = &torture.traces[..torture.options.sessions];
    while sessions.iter().any(|trace| !trace.is_parked()) && torture.failure().is_none() && !wire.is_closed() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A prepared transaction has notified nobody, so nothing changes the count from now on, except sessions that the
    // server has not ended yet.
    let patience = Duration::from_secs(torture.options.patience);
    loop {
        let count = count(trace, wire).await?;
        if heard.last.unwrap_or(heard.at_start) >= count {
            return Ok(());
        }
        match tokio::time::timeout(patience, wire.notifications.recv()).await {
            Ok(Some((_, payload))) => hear(torture, heard, &payload),
            Ok(None) => return Err(Trouble::Lost("the connection has ended".to_owned())),
            Err(_) => {
                torture.fail(format!(
                    "{}: {count} notifications were sent; the last heard is {:?}",
                    trace.name, heard.last
                ));
                return Ok(());
            }
        }
    }
}

fn hear(torture: &Torture, heard: &mut Heard, payload: &str) {
    let Ok(value) = payload.parse::<i64>() else {
        torture.fail(format!("a notification says {payload:?}"));
        return;
    };
    let is_next = match heard.last {
        Some(last) => value == last + 1,
        None => value <= heard.at_start + 1,
    };
    if !is_next {
        let (last, start) = (heard.last, heard.at_start);
        torture.fail(format!("notification {value} came after {last:?}; {start} had been sent when listening began"));
    }
    heard.last = Some(value);
    let mut notices = torture.model.notices();
    notices.firm = notices.firm.max(value);
}

async fn count(trace: &Trace, wire: &Wire) -> Result<i64, Trouble> {
    let answer = say(trace, wire, "select value from notice_count").await?;
    Ok(answer.number(0, 0).unwrap_or(-1))
}

async fn say(trace: &Trace, wire: &Wire, text: &str) -> Result<crate::wire::Answer, Trouble> {
    trace.begin(text);
    let result = wire.ask(text).await;
    match &result {
        Ok(answer) => trace.end(&format!("{:?}", answer.rows)),
        Err(trouble) => trace.end(&trouble.to_string()),
    }
    result
}
