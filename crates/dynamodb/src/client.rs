//! The SDK's client: credentials, time-outs, attempts, and what is watched of every call.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use crate::attempts::{AttemptCounts, AttemptWatch};
use crate::date::{DateWatch, OnDate};
use crate::settings::{FIRST_PAUSE, LONGEST_PAUSE, Settings};

/// The region of an emulator whose user named none.
const NOWHERE: &str = "us-east-1";

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(1);

/// How long an attempt may take of what operators do, and of the first call: credentials may have to be fetched for it.
const PATIENT: Duration = Duration::from_secs(10);

/// The SDK's clients, which share credentials and connections, and what is watched of every call.
pub(crate) struct Clients {
    /// For whoever waits for a decision.
    pub(crate) hurried: Client,
    /// For calls that may take long.
    pub(crate) patient: Client,
    /// Who wants to know of dates.
    pub(crate) on_date: Arc<OnceLock<OnDate>>,
    pub(crate) attempts: Arc<AttemptCounts>,
}

impl Clients {
    pub(crate) async fn new(settings: &Settings) -> Clients {
        let (on_date, attempts) = (Arc::new(OnceLock::new()), Arc::new(AttemptCounts::default()));
        let shared = config(settings).await;
        let client = |timeouts| {
            let config = aws_sdk_dynamodb::config::Builder::from(&shared)
                .retry_config(retries(settings))
                .timeout_config(timeouts)
                .interceptor(DateWatch::new(Arc::clone(&on_date)))
                .interceptor(AttemptWatch(Arc::clone(&attempts)));
            Client::from_conf(config.build())
        };
        let (hurried, patient) = (client(timeouts(settings)), client(patient()));
        Clients { hurried, patient, on_date, attempts }
    }
}

fn patient() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(PATIENT)
        .operation_timeout(PATIENT * 3)
        .build()
}

async fn config(settings: &Settings) -> SdkConfig {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let region = settings.region.clone().map(Region::new);
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone());
    match &settings.endpoint {
        Some(endpoint) if is_emulator(endpoint) => {
            let region = RegionProviderChain::first_try(region)
                .or_else(EnvironmentVariableRegionProvider::new())
                .or_else(ProfileFileRegionProvider::new())
                .or_else(Region::new(NOWHERE));
            let known = ProviderConfig::default().with_http_client(http);
            let credentials = emulator_credentials(&known);
            loader = loader.endpoint_url(endpoint).region(region).credentials_provider(credentials);
        }
        endpoint => {
            if let Some(endpoint) = endpoint {
                loader = loader.endpoint_url(endpoint);
            }
            if let Some(region) = region {
                loader = loader.region(region);
            }
        }
    }
    loader.load().await
}

/// AWS is never asked without TLS.
fn is_emulator(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}

/// What the user has, or made-up credentials, which emulators take: whoever tries one needs no account, and the machine's
/// own identity is not looked for.
fn emulator_credentials(known: &ProviderConfig) -> SharedCredentialsProvider {
    let made_up = Credentials::new("tidegate", "tidegate", None, None, "made up");
    let profile = ProfileFileCredentialsProvider::builder().configure(known).build();
    let chain = CredentialsProviderChain::first_try("env", EnvironmentVariableCredentialsProvider::new())
        .or_else("profile", profile)
        .or_else("made up", made_up);
    SharedCredentialsProvider::new(chain)
}

fn retries(settings: &Settings) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(settings.attempts.max(1))
        .with_initial_backoff(FIRST_PAUSE)
        .with_max_backoff(LONGEST_PAUSE)
}

fn timeouts(settings: &Settings) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT.min(settings.attempt_timeout()))
        .operation_attempt_timeout(settings.attempt_timeout())
        .operation_timeout(settings.call_timeout())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_ends() {
        let settings = Settings { timeout_ms: 200, attempts: 4, ..Settings::default() };
        let timeouts = timeouts(&settings);
        assert_eq!(timeouts.operation_attempt_timeout(), Some(Duration::from_millis(200)));
        assert_eq!(timeouts.connect_timeout(), Some(Duration::from_millis(200)));
        assert_eq!(timeouts.operation_timeout(), Some(settings.call_timeout()));
        assert_eq!(retries(&settings).max_attempts(), 4);
    }

    #[test]
    fn only_what_has_no_tls_is_an_emulator() {
        assert!(is_emulator("http://127.0.0.1:8000"));
        assert!(!is_emulator("https://dynamodb.eu-central-1.amazonaws.com"));
    }
}
