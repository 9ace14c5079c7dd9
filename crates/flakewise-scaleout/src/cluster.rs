//! The processes of a cluster, and the engine that sends statements to them.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::extension::SessionStateExt as _;
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use flakewise_history::engine::datafusion::error::DataFusionError;
use flakewise_history::engine::datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use flakewise_history::engine::datafusion::execution::{SessionState, SessionStateBuilder};
use flakewise_history::engine::datafusion::prelude::{SessionConfig, SessionContext};
use flakewise_history::engine::{Engine, Stores};

use crate::args::{ExecutorArguments, SchedulerArguments};

/// Executors ask for tasks: then nobody but other executors must reach them, at one port.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;

/// The stores of this process, so that all sessions share connections.
static STORES: LazyLock<Arc<Stores>> = LazyLock::new(Arc::default);

/// What a session of this process reads with.
fn runtime(scratch: Option<&Path>) -> Result<Arc<RuntimeEnv>, DataFusionError> {
    let mut builder = RuntimeEnvBuilder::new().with_object_store_registry(Arc::<Stores>::clone(&STORES));
    if let Some(scratch) = scratch {
        builder = builder.with_temp_file_path(scratch);
    }
    builder.build_arc()
}

/// The engine of a cluster.
pub(crate) struct Cluster {
    pub(crate) scheduler: SocketAddr,
    pub(crate) partitions: u16,
}

impl Engine for Cluster {
    fn session(&self, config: SessionConfig) -> Result<SessionContext, DataFusionError> {
        let state = SessionStateBuilder::new()
            .with_config(config.with_target_partitions(self.partitions.into()))
            .with_runtime_env(runtime(None)?)
            .with_default_features()
            .build();
        let state = state.upgrade_for_ballista(format!("http://{}", self.scheduler))?;
        Ok(SessionContext::new_with_state(state))
    }
}

/// How a scheduler reads tables to plan a statement.
fn planning_state(config: SessionConfig) -> Result<SessionState, DataFusionError> {
    let state = default_session_builder(config)?;
    Ok(SessionStateBuilder::new_from_existing(state).with_runtime_env(runtime(None)?).build())
}

/// Serves until the process ends. `ready` gets the address once it listens.
pub(crate) async fn serve_scheduler(
    arguments: &SchedulerArguments,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BallistaError> {
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    let address = listener.local_addr()?;
    let config = Arc::new(SchedulerConfig {
        bind_host: address.ip().to_string(),
        external_host: address.ip().to_string(),
        bind_port: address.port(),
        scheduling_policy: POLICY,
        executor_timeout_seconds: arguments.executor_timeout,
        expire_dead_executor_interval_seconds: arguments.executor_timeout.div_ceil(4),
        no_executors_grace_period_seconds: arguments.executor_timeout,
        override_session_builder: Some(Arc::new(planning_state)),
        ..SchedulerConfig::default()
    });
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config).await?;
    ready(address);
    start_grpc_service_with_listener(listener, scheduler).await
}

/// Serves until the process is told to end. `ready` gets its address and the number of its cores.
pub(crate) async fn serve_executor(
    arguments: &ExecutorArguments,
    scratch: &Path,
    ready: impl FnOnce(SocketAddr, usize),
) -> Result<(), BallistaError> {
    // Executors tell others their port before they listen on it.
    let address = TcpListener::bind(arguments.listen)?.local_addr()?;
    let cores = arguments
        .cores
        .map_or_else(|| std::thread::available_parallelism().map_or(1, Into::into), usize::from);
    let own_scratch = scratch.to_owned();
    let config = ExecutorProcessConfig {
        bind_host: address.ip().to_string(),
        external_host: Some(address.ip().to_string()),
        port: address.port(),
        scheduler_host: arguments.scheduler.ip().to_string(),
        scheduler_port: arguments.scheduler.port(),
        vcores: cores,
        task_scheduling_policy: POLICY,
        work_dir: Some(scratch.to_string_lossy().into_owned()),
        memory_pool_size: arguments.memory.map(|megabytes| megabytes << 20),
        override_runtime_producer: Some(Arc::new(move |_| runtime(Some(&own_scratch)))),
        ..ExecutorProcessConfig::default()
    };
    ready(address, cores);
    start_executor_process(Arc::new(config)).await
}
