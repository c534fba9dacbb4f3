//! Common uses of tokio-postgres.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _, TryStreamExt as _, pin_mut};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{AsyncMessage, Client, IsolationLevel, NoTls};

/// A client, and the messages that the server sends without a request.
async fn connect(url: &str) -> (Client, tokio::sync::mpsc::UnboundedReceiver<AsyncMessage>) {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            let _ = tell.send(message);
        }
    });
    (client, told)
}

/// Runs all of it, within a minute.
pub fn smoke(url: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let all = async {
            let (client, _told) = connect(url).await;
            types(&client).await;
            in_flight(&client).await;
            copies(&client).await;
            transactions(url).await;
            errors_and_cancelling(&client).await;
            notifications(url).await;
        };
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("all of it takes seconds");
    });
}

/// Values go in and out in binary; the statement's parameters and columns have the types that it says.
async fn types(client: &Client) {
    let text = "select $1::int2 a, $2::int4 b, $3::int8 c, $4::float4 d, $5::float8 e, $6::text f, $7::bytea g, $8::bool h,
        $9::timestamptz i, $10::date j, $11::time k, $12::uuid l, $13::jsonb m, $14::int4[] n, $15::text[] o, $16::inet p";
    let statement = client.prepare(text).await.unwrap();
    assert_eq!(statement.params()[..4], [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4]);
    assert_eq!(statement.columns()[12].type_(), &Type::JSONB);
    let instant = chrono::DateTime::from_timestamp(1_700_000_000, 5_000).unwrap();
    let (date, time) = (instant.date_naive(), instant.time());
    let (id, json) = (uuid::Uuid::from_u128(7), Json(serde_json::json!({"k": [1, null]})));
    let (numbers, texts) = (vec![Some(1), None], vec!["a".to_owned(), "b\"c".to_owned()]);
    let address: std::net::IpAddr = "10.1.2.3".parse().unwrap();
    let row = client
        .query_one(
            &statement,
            &[
                &1i16,
                &2i32,
                &(1i64 << 40),
                &0.5f32,
                &1.25f64,
                &"täxt",
                &&b"\x00\xff"[..],
                &true,
                &instant,
                &date,
                &time,
                &id,
                &json,
                &numbers,
                &texts,
                &address,
            ],
        )
        .await
        .unwrap();
    assert_eq!((row.get::<_, i16>("a"), row.get::<_, i32>(1), row.get::<_, i64>(2)), (1, 2, 1 << 40));
    assert_eq!((row.get::<_, f32>(3), row.get::<_, f64>(4), row.get::<_, &str>(5)), (0.5, 1.25, "täxt"));
    assert_eq!((row.get::<_, &[u8]>(6), row.get::<_, bool>(7)), (&b"\x00\xff"[..], true));
    assert_eq!(row.get::<_, chrono::DateTime<chrono::Utc>>(8), instant);
    assert_eq!((row.get::<_, chrono::NaiveDate>(9), row.get::<_, chrono::NaiveTime>(10)), (date, time));
    assert_eq!((row.get::<_, uuid::Uuid>(11), row.get::<_, Json<serde_json::Value>>(12).0), (id, json.0));
    assert_eq!((row.get::<_, Vec<Option<i32>>>(13), row.get::<_, Vec<String>>(14)), (numbers, texts));
    assert_eq!(row.get::<_, std::net::IpAddr>(15), address);
    let nothing: Option<i32> = client.query_one("select $1::int4", &[&None::<i32>]).await.unwrap().get(0);
    assert_eq!(nothing, None);

    // The driver looks these types up in the catalogs.
    client
        .batch_execute(
            "create type tp_mood as enum ('sad', 'ok'); create type tp_pair as (a int, b text);
             create domain tp_positive as int check (value > 0)",
        )
        .await
        .unwrap();
    let statement =
        client.prepare("select 'ok'::tp_mood, row(1, 'x')::tp_pair, array[row(1, 'x')::tp_pair]").await.unwrap();
    let kinds: Vec<String> = statement.columns().iter().map(|column| format!("{:?}", column.type_().kind())).collect();
    assert_eq!(kinds[0], r#"Enum(["sad", "ok"])"#);
    assert!(kinds[1].starts_with("Composite([Field"), "{}", kinds[1]);
    assert!(kinds[2].starts_with("Array(Other"), "{}", kinds[2]);
}

/// Many statements are under way before the first answer is read, and each gets its own.
async fn in_flight(client: &Client) {
    let statement = client.prepare("select $1::int4 * 2").await.unwrap();
    let all = (0..100i32).map(|number| {
        let statement = &statement;
        async move { client.query_one(statement, &[&number]).await.unwrap().get::<_, i32>(0) }
    });
    assert_eq!(futures_util::future::join_all(all).await, (0..100).map(|number| number * 2).collect::<Vec<i32>>());
    // One that fails between two others takes neither with it.
    let (before, failed, after) = futures_util::join!(
        client.query_one("select 1", &[]),
        client.query_one("select 1 / $1::int4", &[&0i32]),
        client.query_one("select 3", &[]),
    );
    assert_eq!((before.unwrap().get::<_, i32>(0), after.unwrap().get::<_, i32>(0)), (1, 3));
    assert_eq!(failed.unwrap_err().code(), Some(&SqlState::DIVISION_BY_ZERO));
}

async fn copies(client: &Client) {
    client.batch_execute("create table tp_items (id int4 primary key, name text, price float8)").await.unwrap();
    let types = [Type::INT4, Type::TEXT, Type::FLOAT8];
    let writer = BinaryCopyInWriter::new(client.copy_in("copy tp_items from stdin binary").await.unwrap(), &types);
    pin_mut!(writer);
    for number in 0..500i32 {
        let name = (number % 7 != 0).then(|| format!("item {number}"));
        writer.as_mut().write(&[&number, &name, &(f64::from(number) / 4.0)]).await.unwrap();
    }
    assert_eq!(writer.finish().await.unwrap(), 500);
    let rows = BinaryCopyOutStream::new(client.copy_out("copy tp_items to stdout binary").await.unwrap(), &types);
    let rows: Vec<_> = rows.try_collect().await.unwrap();
    let sum: f64 = rows.iter().map(|row| row.get::<f64>(2)).sum();
    assert_eq!((rows.len(), sum), (500, 31_187.5));
    assert_eq!(rows[7].get::<Option<&str>>(1), None);

    let sink = client.copy_in("copy tp_items (id, name) from stdin csv").await.unwrap();
    pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"1000,\"a, b\"\n1001,\n")).await.unwrap();
    assert_eq!(sink.finish().await.unwrap(), 2);
    // A COPY that fails in the middle leaves no rows behind, and the connection stays usable.
    let sink = client.copy_in("copy tp_items (id) from stdin").await.unwrap();
    pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"2000\nnot a number\n")).await.unwrap();
    assert_eq!(sink.finish().await.unwrap_err().code(), Some(&SqlState::INVALID_TEXT_REPRESENTATION));
    let count: i64 = client.query_one("select count(*) from tp_items", &[]).await.unwrap().get(0);
    assert_eq!(count, 502);
}

async fn transactions(url: &str) {
    let (mut client, _told) = connect(url).await;
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::Serializable)
        .read_only(false)
        .start()
        .await
        .unwrap();
    assert_eq!(transaction.execute("update tp_items set price = 0 where id < $1", &[&10i32]).await.unwrap(), 10);
    let portal = transaction.bind("select id from tp_items order by id", &[]).await.unwrap();
    let first = transaction.query_portal(&portal, 3).await.unwrap();
    let second = transaction.query_portal(&portal, 3).await.unwrap();
    assert_eq!(first.iter().chain(&second).map(|row| row.get(0)).collect::<Vec<i32>>(), [0, 1, 2, 3, 4, 5]);
    transaction.rollback().await.unwrap();
    let mut transaction = client.transaction().await.unwrap();
    let savepoint = transaction.transaction().await.unwrap();
    savepoint.execute("delete from tp_items", &[]).await.unwrap();
    savepoint.rollback().await.unwrap();
    transaction.execute("delete from tp_items where id >= 1000", &[]).await.unwrap();
    transaction.commit().await.unwrap();
    let row = client.query_one("select count(*), sum(price) from tp_items", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, f64>(1)), (500, 31_187.5));
}

async fn errors_and_cancelling(client: &Client) {
    let error = client.execute("insert into tp_items values (1, 'x', 1)", &[]).await.unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!(told.code(), &SqlState::UNIQUE_VIOLATION);
    assert_eq!(
        (told.constraint(), told.table(), told.detail()),
        (Some("tp_items_pkey"), Some("tp_items"), Some("Key (id)=(1) already exists."))
    );
    let error = client.query("select nothing from tp_items", &[]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNDEFINED_COLUMN));
    let token = client.cancel_token();
    let (slept, cancelled) = futures_util::join!(client.query("select pg_sleep(50)", &[]), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        token.cancel_query(NoTls).await
    });
    cancelled.unwrap();
    assert_eq!(slept.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(client.query_one("select 1", &[]).await.unwrap().get::<_, i32>(0), 1);
}

/// A session that idles is told.
async fn notifications(url: &str) {
    let (listener, mut told) = connect(url).await;
    let (teller, _) = connect(url).await;
    listener.batch_execute("listen tp_news").await.unwrap();
    teller.execute("select pg_notify('tp_news', $1)", &[&"hello"]).await.unwrap();
    loop {
        match told.recv().await.expect("the connection stays") {
            AsyncMessage::Notification(heard) => {
                assert_eq!((heard.channel(), heard.payload()), ("tp_news", "hello"));
                break;
            }
            _ => continue,
        }
    }
}
