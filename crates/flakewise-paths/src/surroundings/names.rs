//! Names that tell the family of an interface.

use std::collections::HashMap;
use std::sync::LazyLock;

use flakewise_source::Language;

use super::ApiFamily;

/// The families that a name tells.
pub(super) fn families(language: Language, name: &str) -> &'static [ApiFamily] {
    let table = if language == Language::Python { &*PYTHON_TABLE } else { &*JAVA_TABLE };
    table.get(name).map(Vec::as_slice).unwrap_or_default()
}

type Table = HashMap<&'static str, Vec<ApiFamily>>;

static JAVA_TABLE: LazyLock<Table> = LazyLock::new(|| table(JAVA));
static PYTHON_TABLE: LazyLock<Table> = LazyLock::new(|| table(PYTHON));

fn table(lists: &[(ApiFamily, &'static str)]) -> Table {
    let mut table = Table::new();
    for (family, names) in lists {
        for name in names.split_ascii_whitespace() {
            table.entry(name).or_default().push(*family);
        }
    }
    table
}

static JAVA: &[(ApiFamily, &str)] = &[
    (
        ApiFamily::Thread,
        "Thread Runnable Executor ExecutorService Executors ThreadPoolExecutor ScheduledExecutorService \
         ScheduledThreadPoolExecutor ScheduledFuture ForkJoinPool Future CompletableFuture CompletionStage \
         ListenableFuture FutureTask Callable Timer TimerTask ThreadFactory newCachedThreadPool \
         newFixedThreadPool newSingleThreadExecutor newScheduledThreadPool newSingleThreadScheduledExecutor \
         schedule scheduleAtFixedRate scheduleWithFixedDelay execute submit ThreadGroup setDaemon isAlive \
         interrupt isInterrupted currentThread EventLoop EventLoopGroup NioEventLoopGroup TaskExecutor \
         AsyncTask invokeAll shutdownNow",
    ),
    (
        ApiFamily::Lock,
        "wait notify notifyAll Lock ReentrantLock ReadWriteLock ReentrantReadWriteLock Condition Semaphore \
         CountDownLatch CyclicBarrier Phaser AtomicInteger AtomicLong AtomicBoolean AtomicReference \
         AtomicReferenceFieldUpdater AtomicLongFieldUpdater ConcurrentMap BlockingQueue LinkedBlockingQueue \
         ArrayBlockingQueue PriorityBlockingQueue DelayQueue SynchronousQueue ConcurrentLinkedQueue \
         ConcurrentLinkedDeque CopyOnWriteArrayList CopyOnWriteArraySet ThreadLocal InheritableThreadLocal \
         countDown LockSupport tryLock",
    ),
    (
        ApiFamily::Time,
        "currentTimeMillis nanoTime Date Calendar GregorianCalendar Instant LocalDate LocalDateTime LocalTime \
         ZonedDateTime OffsetDateTime Duration DateTime Clock ClockUtil SimpleDateFormat DateFormat TimeZone \
         StopWatch Stopwatch Timestamp getTime getInstance lastModified setLastModified now",
    ),
    (
        ApiFamily::Random,
        "Random UUID SecureRandom ThreadLocalRandom randomUUID random nextInt nextLong nextBytes nextDouble \
         shuffle identityHashCode RandomStringUtils RandomUtils nextBoolean",
    ),
    (
        ApiFamily::Network,
        "Socket ServerSocket SocketChannel ServerSocketChannel DatagramSocket MulticastSocket DatagramChannel \
         InetAddress InetSocketAddress SocketAddress HttpURLConnection HttpsURLConnection URLConnection \
         HttpClient DefaultHttpClient CloseableHttpClient OkHttpClient HttpServer Channel ChannelFuture \
         Bootstrap ServerBootstrap ChannelHandlerContext Selector SelectionKey NioSocketChannel \
         NioServerSocketChannel XnioWorker Xnio NetworkInterface openConnection getLocalHost getLocalPort \
         getPort setPort port SSLSocket SSLEngine SSLContext SSLSocketFactory TTransport TSocket TServer \
         ZooKeeper CuratorFramework ZkClient WebSocket WebSocketServer bind accept connect getInputStream \
         getOutputStream Jetty Tomcat Undertow Server MockWebServer RestTemplate Connector",
    ),
    (
        ApiFamily::File,
        "File FileInputStream FileOutputStream FileWriter FileReader RandomAccessFile Files Path Paths \
         createTempFile createTempDirectory TemporaryFolder FileChannel FileLock mkdir mkdirs listFiles \
         deleteOnExit FileUtils FileSystem getAbsolutePath getCanonicalPath toFile FileUtil renameTo \
         getResourceAsStream deleteRecursively",
    ),
    (
        ApiFamily::Hash,
        "HashMap HashSet Hashtable IdentityHashMap WeakHashMap ConcurrentHashMap newHashMap newHashSet \
         newConcurrentMap Properties",
    ),
    (
        ApiFamily::Ordered,
        "LinkedHashMap LinkedHashSet TreeMap TreeSet ConcurrentSkipListMap ConcurrentSkipListSet SortedMap \
         SortedSet Collections sort Comparator",
    ),
    (
        ApiFamily::Environment,
        "getProperty setProperty getenv clearProperty getProperties setProperties Locale getDefault \
         setDefault lineSeparator availableProcessors getInteger getLong defaultCharset Environment",
    ),
    (
        ApiFamily::Sleep,
        "sleep await awaitTermination timeout Timeout TimeUnit join poll setTimeout setSoTimeout \
         setConnectTimeout setReadTimeout TimeoutException connectTimeout readTimeout SocketTimeoutException \
         waitFor awaitUninterruptibly yield parkNanos heartbeat keepAlive idleTimeout retry retries Retry \
         backoff",
    ),
    (
        ApiFamily::ReflectionOrder,
        "getMethods getDeclaredMethods getFields getDeclaredFields getConstructors getDeclaredConstructors \
         getInterfaces getDeclaredClasses getAnnotations",
    ),
    (
        ApiFamily::Reflection,
        "invoke newInstance forName Proxy newProxyInstance InvocationHandler getMethod getDeclaredMethod \
         getDeclaredField setAccessible loadClass ClassLoader getContextClassLoader setContextClassLoader \
         ServiceLoader ExtensionLoader URLClassLoader",
    ),
    (
        ApiFamily::Database,
        "Connection DataSource PreparedStatement ResultSet DriverManager Statement CallableStatement \
         EntityManager EntityManagerFactory SqlSession SqlSessionFactory JdbcTemplate Keyspace Cluster \
         Session Transaction HTable HBaseAdmin HRegion MongoClient Mongo Jedis JedisPool executeQuery \
         executeUpdate commit rollback DbSqlSession TransactionManager Cassandra",
    ),
    (
        ApiFamily::Json,
        "ObjectMapper JSONObject JSONArray JsonNode Gson toJson fromJson writeValueAsString readValue \
         ObjectOutputStream ObjectInputStream Serializable JSON XStream Marshaller Unmarshaller JsonGenerator \
         JsonParser DocumentBuilder XMLStreamReader XMLStreamWriter serialize deserialize writeObject \
         readObject",
    ),
    (
        ApiFamily::Log,
        "Appender AppenderBase ListAppender LoggerContext FileAppender RollingFileAppender addAppender \
         ILoggingEvent StatusManager OutputCapture ConsoleAppender",
    ),
    (
        ApiFamily::Process,
        "Process ProcessBuilder Runtime exec addShutdownHook getRuntime DefaultExecutor Watchdog \
         ExecuteWatchdog exit",
    ),
    (
        ApiFamily::GarbageCollection,
        "gc WeakReference SoftReference PhantomReference ReferenceQueue finalize freeMemory totalMemory \
         maxMemory",
    ),
    (
        ApiFamily::Container,
        "ApplicationContext ConfigurableApplicationContext SpringApplication \
         AnnotationConfigApplicationContext AnnotationConfigWebApplicationContext \
         AnnotationConfigEmbeddedWebApplicationContext EmbeddedServletContainer Injector Guice ProcessEngine \
         ServiceContainer KernelServices ServletContext EmbeddedServletContainerFactory MiniDFSCluster \
         MiniMRCluster MiniZooKeeperCluster LocalTachyonCluster HBaseTestingUtility",
    ),
    (
        ApiFamily::Cache,
        "Cache CacheManager cache expire expiry ttl LRU evict evictExpired invalidate CacheBuilder \
         LoadingCache",
    ),
    (
        ApiFamily::Listener,
        "addListener removeListener fireEvent publishEvent onEvent onMessage callback Callback Listener \
         EventListener Observer Observable subscribe onNext onComplete handler Handler",
    ),
];

static PYTHON: &[(ApiFamily, &str)] = &[
    (
        ApiFamily::Thread,
        "Thread threading ThreadPoolExecutor ProcessPoolExecutor asyncio create_task ensure_future gather \
         submit run_in_executor to_thread Future is_alive daemon current_thread get_event_loop new_event_loop \
         run_until_complete trio anyio gevent spawn greenlet concurrent",
    ),
    (
        ApiFamily::Lock,
        "Lock RLock Semaphore BoundedSemaphore Event Condition Barrier Queue SimpleQueue LifoQueue \
         PriorityQueue ContextVar acquire notify notify_all put_nowait get_nowait",
    ),
    (
        ApiFamily::Time,
        "time datetime now utcnow today monotonic perf_counter time_ns timestamp fromtimestamp strftime \
         strptime localtime gmtime mktime timezone tzinfo ZoneInfo pytz freezegun arrow pendulum timeit \
         getmtime st_mtime utime",
    ),
    (
        ApiFamily::Random,
        "random randint randrange choice choices sample shuffle uniform gauss seed uuid uuid1 uuid4 secrets \
         token_hex token_bytes token_urlsafe urandom Random default_rng rand randn RandomState getrandbits \
         hypothesis Faker",
    ),
    (
        ApiFamily::Network,
        "socket requests httpx urlopen urllib aiohttp http HTTPServer TCPServer ThreadingHTTPServer \
         HTTPConnection HTTPSConnection ssl SSLContext bind listen accept connect recv sendall port \
         getaddrinfo gethostname create_connection create_server start_server websocket websockets grpc \
         paramiko smtplib ftplib socketserver selectors uvicorn TestServer live_server ZooKeeper KazooClient",
    ),
    (
        ApiFamily::File,
        "open Path pathlib tmp_path tmpdir tempfile mkdtemp mkstemp NamedTemporaryFile TemporaryDirectory \
         shutil rmtree mkdir makedirs unlink rename glob rglob listdir scandir walk chdir getcwd exists \
         isfile write_text read_text write_bytes read_bytes fileno flock mmap symlink",
    ),
    (ApiFamily::Hash, "set frozenset Counter defaultdict"),
    (ApiFamily::Ordered, "sorted sort OrderedDict SortedDict SortedList"),
    (
        ApiFamily::Environment,
        "environ getenv putenv setenv delenv locale setlocale platform sys argv getdefaultencoding cpu_count \
         expanduser umask getuser",
    ),
    (
        ApiFamily::Sleep,
        "sleep wait timeout join wait_for poll retry retries backoff TimeoutError settimeout tenacity Retry \
         heartbeat keepalive asleep move_on_after fail_after",
    ),
    (ApiFamily::ReflectionOrder, "dir vars getmembers iter_modules __subclasses__ entry_points"),
    (
        ApiFamily::Reflection,
        "getattr setattr import_module importlib __import__ eval exec reload monkeypatch inspect globals \
         locals",
    ),
    (
        ApiFamily::Database,
        "cursor execute executemany fetchone fetchall commit rollback sqlite3 psycopg2 psycopg asyncpg \
         pymysql MySQLdb create_engine sessionmaker Session session transaction redis Redis StrictRedis \
         MongoClient pymongo sqlalchemy Cluster",
    ),
    (
        ApiFamily::Json,
        "json dumps loads pickle marshal yaml safe_load dump load msgpack serialize deserialize to_json \
         from_json model_dump",
    ),
    (
        ApiFamily::Log,
        "caplog capsys capfd getLogger addHandler removeHandler StreamHandler FileHandler RotatingFileHandler \
         LogRecord basicConfig",
    ),
    (
        ApiFamily::Process,
        "subprocess Popen check_output check_call fork kill killpg waitpid multiprocessing Process system \
         execv signal sigaction atexit exit _exit",
    ),
    (
        ApiFamily::GarbageCollection,
        "gc weakref WeakValueDictionary WeakKeyDictionary WeakSet WeakRef collect tracemalloc __del__",
    ),
    (
        ApiFamily::Container,
        "TestClient app_context test_client create_app AsyncClient CliRunner LiveServerTestCase \
         TransactionTestCase docker DockerClient testcontainers",
    ),
    (
        ApiFamily::Cache,
        "cache lru_cache cached_property cache_clear ttl expire expiry evict invalidate memoize TTLCache",
    ),
    (
        ApiFamily::Listener,
        "callback callbacks add_listener remove_listener subscribe publish on_event emit dispatch receiver \
         handler handlers Signal add_done_callback observer add_signal_handler",
    ),
];
