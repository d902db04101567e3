use std::sync::Arc;

use futures::future::join_all;
use object_store::client::HttpResponseBody;

use super::*;
use crate::storage::runtime::block_on;

/// The header as in RFC 9110, section 10.2.3.
#[test]
fn retry_after_is_seconds_or_a_date() {
    let now = "2026-11-27T10:00:00Z".parse().unwrap();
    assert_eq!(pause("120", now), Some(Duration::from_secs(120)));
    assert_eq!(pause(" 0 ", now), Some(Duration::ZERO));
    let date = "Fri, 27 Nov 2026 10:00:30 GMT";
    assert_eq!(pause(date, now), Some(Duration::from_secs(30)));
    assert_eq!(pause("Fri, 27 Nov 2026 09:00:00 GMT", now), None);
    for wrong in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
        assert_eq!(pause(wrong, now), None, "{wrong}");
    }
}

/// Responds 503 to the first request of each address.
#[derive(Clone, Debug, Default)]
struct BusyServer {
    calls: Arc<Mutex<Vec<(String, Instant)>>>,
}

#[async_trait]
impl HttpService for BusyServer {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let address = request.uri().path().to_owned();
        let mut calls = self.calls.lock().unwrap();
        let is_known = calls.iter().any(|(known, _)| *known == address);
        calls.push((address, Instant::now()));
        let mut response = HttpResponse::new(HttpResponseBody::from(String::new()));
        if !is_known {
            *response.status_mut() = 503_u16.try_into().unwrap();
            let headers = response.headers_mut();
            headers.insert("retry-after", "1".try_into().unwrap());
        }
        Ok(response)
    }
}

fn client_of_a_busy_server(max_pause: Duration) -> (BusyServer, Arc<RetryAfterClient<BusyServer>>) {
    let server = BusyServer::default();
    let client = RetryAfterClient {
        client: server.clone(),
        max_pause,
        paused: Mutex::default(),
    };
    (server, Arc::new(client))
}

async fn call(client: &RetryAfterClient<BusyServer>, address: &str) -> u16 {
    let mut request = HttpRequest::new(String::new().into());
    *request.uri_mut() = format!("http://host/{address}").parse().unwrap();
    client.call(request).await.unwrap().status().as_u16()
}

async fn call_twice(client: Arc<RetryAfterClient<BusyServer>>, address: &str) -> [u16; 2] {
    let first = call(&client, address).await;
    [first, call(&client, address).await]
}

#[test]
fn requests_to_a_busy_server_wait_for_retry_after() {
    let (server, client) = client_of_a_busy_server(Duration::from_secs(9));
    let start = Instant::now();
    let statuses = block_on(async move {
        join_all(["a", "b", "c"].map(|address| call_twice(Arc::clone(&client), address))).await
    });
    assert_eq!(statuses.unwrap(), [[503, 200]; 3]);
    // the pauses overlap: one after the other they would take three seconds
    assert!(start.elapsed() < Duration::from_millis(2900));
    let calls = server.calls.lock().unwrap();
    for address in ["/a", "/b", "/c"] {
        let calls = calls.iter().filter(|(called, _)| called == address);
        let times: Vec<Instant> = calls.map(|(_, time)| *time).collect();
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= Duration::from_secs(1), "{address}");
    }
}

#[test]
fn a_pause_is_limited() {
    let (_, client) = client_of_a_busy_server(Duration::from_millis(50));
    let start = Instant::now();
    let statuses = block_on(call_twice(client, "a"));
    assert_eq!(statuses.unwrap(), [503, 200]);
    assert!(start.elapsed() < Duration::from_millis(900));
}

#[test]
fn a_pause_that_the_clock_cannot_represent_is_ignored() {
    let (_, client) = client_of_a_busy_server(Duration::MAX);
    client.pause("GET /a".to_owned(), Duration::MAX);
    assert!(client.paused().is_empty());
}

#[test]
fn secrets_of_the_request_are_removed_from_errors() {
    let mut request = HttpRequest::new(String::new().into());
    *request.uri_mut() = "http://host/t?sv=1&sig=ab%2Bc%3D".parse().unwrap();
    let headers = request.headers_mut();
    headers.insert("authorization", "Bearer t0ken".try_into().unwrap());
    headers.insert("x-amz-security-token", "s3cret".try_into().unwrap());
    let secrets = Secrets::of(&request);
    for (sent, shown) in [
        (
            "<Message>no s3cret, t0ken</Message>",
            "<Message>no …, …</Message>",
        ),
        ("sig=ab%2Bc%3D or ab+c=", "sig=… or …"),
        ("AccessDenied", "AccessDenied"),
    ] {
        assert_eq!(secrets.redact(Bytes::from(sent)), shown);
    }
    assert_eq!(secrets.redact(Bytes::from_static(b"\xff")), b"\xff"[..]);
}
