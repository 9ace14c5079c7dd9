//! The families. Most are recognised by words that Java's tests use, because the
//! labelled tests are Java's; the spellings of Python, Go, JavaScript and Rust
//! stand behind them.

use super::Family;
use crate::Category::{self, AsyncWait, Concurrency, OrderDependent, Time, UnorderedCollection};

const fn family(
    name: &'static str,
    category: Category,
    reason: &'static str,
    patterns: &'static [&'static str],
) -> Family {
    Family { name, category: Some(category), reason, patterns }
}

/// One that every kind of flakiness may have.
const fn neutral(name: &'static str, reason: &'static str, patterns: &'static [&'static str]) -> Family {
    Family { name, category: None, reason, patterns }
}

#[rustfmt::skip]
pub(super) static FAMILIES: &[Family] = &[
    family("sleep", AsyncWait, "waits for a fixed time", &[
        "sleep|sleepUninterruptibly|pause|delay (", "Sleep (", "sleep_ms|usleep|setTimeout (", "time . sleep",
    ]),
    family("wait-call", AsyncWait, "polls until something has happened", &[
        "wait|waitUtil|waitFor*|waitUntil*|await+|ensure*Eventually|assert*Eventually|eventually* (",
        "wait_for*|wait_until*|assert_eventually*|Eventually|toPass (",
    ]),
    family("awaitility", AsyncWait, "polls with Awaitility", &[
        "Awaitility", "await ( ) .", "atMost|pollInterval|untilAsserted|until (",
    ]),
    family("latch", AsyncWait, "waits for another thread with a latch", &[
        "CountDownLatch|countDown|CyclicBarrier|Phaser", ". await (", "threading . Event|Barrier|Condition", "WaitGroup",
    ]),
    family("timeout", AsyncWait, "depends on a timeout", &["*timeout*|*TIMEOUT*|*timedOut*|*timed_out*"]),
    family("time-unit", AsyncWait, "gives a wait its length", &[
        "TimeUnit . <word>", "SECONDS|MILLISECONDS|MINUTES", "time . Second|Millisecond|Minute",
    ]),
    family("future", AsyncWait, "waits for the result of a future", &[
        "Future|CompletableFuture|ListenableFuture|Promise|CompletionStage|Mono|Flux|Single|Completable",
        "*future . get|join|result", ". get|join ( <number>", "create_task|ensure_future|gather|run_until_complete (",
    ]),
    family("async", AsyncWait, "calls something asynchronous", &["*async*", "tokio"]),
    family("queue-take", AsyncWait, "takes from a queue that another thread fills", &[
        "poll|take|receive|pollFirst|drainTo|blockingGet|blockingAwait|toBlocking|blockingFirst (", "get_nowait|recv (",
    ]),
    family("callback", AsyncWait, "reacts to a callback or listener", &[
        "on+|addListener|add*Listener|subscribe|whenComplete|thenAccept|thenApply|addCallback|setCallback",
        "*Callback|*Listener|*Handler", "add_done_callback|addEventListener|callback",
    ]),
    family("server-client", AsyncWait, "talks to a server or client", &[
        "*server*|*client*|*socket*|*channel*|*connection*",
    ]),
    family("network", AsyncWait, "uses the network or a port", &[
        "Http*|URL|URI|InetSocketAddress|InetAddress|*port|localhost|*host|MockWebServer|OkHttp*|WebSocket*|Response|enqueue",
        "requests . get|post|put|delete|request|Session", "urlopen|urllib|httpx|aiohttp|fetch|axios|reqwest|httptest",
    ]),
    family("messaging", AsyncWait, "sends messages through a broker or queue", &[
        "*consumer*|*producer*|*subscriber*|*subscription*|*topic*|*message*|*publish*|*broker*|*queue*",
    ]),
    family("job", AsyncWait, "depends on the progress of a job or cluster", &[
        "*cluster*|*Node*|*replica*|*leader*|*partition*|*worker*|*submit*|*Job*|*Task*|*workflow*",
        "node|nodes|job|jobs|task|tasks",
    ]),
    family("start-stop", AsyncWait, "starts or stops a service", &["start*|stop*|shutdown*|restart*|launch*|run ("]),
    family("status", AsyncWait, "asks for the state of something in progress", &[
        "get*Status|get*State|isDone|isRunning|isReady|isFinished|isComplete*|isAlive|isConnected|isOpen (",
        "isClosed|isStarted|isStopped|isActive|is_alive|is_running|is_ready|get_status (",
    ]),
    family("user-interface", AsyncWait, "drives a user interface", &[
        "Activity*|View*|onView|perform|Fragment*|Instrumentation*|getInstrumentation|runOnUiThread|runOnMainSync",
        "Looper*|Handler|waitForIdle*|Player*|UiThread*", "webdriver|WebDriver*|playwright", "page . click|goto",
    ]),
    family("loop-wait", AsyncWait, "sleeps in a loop until something is true", &["while|for ..} sleep|wait|yield ("]),
    family("thread", Concurrency, "starts or inspects threads", &[
        "Thread [|<name>", "new Thread", "+Thread*|Thread+|Threads|thread|threads", "threading|multiprocessing . <word>",
        "thread :: spawn", "goroutine*",
    ]),
    family("thread-join", Concurrency, "creates threads and joins them", &[
        "new Thread (", "Thread [ ]", ". start|interrupt|join ( )", "threading . Thread", "Thread|Process ( target", "go func",
    ]),
    family("executor", Concurrency, "runs work on an executor", &[
        "*Executor*|newFixedThreadPool|newCachedThreadPool|newSingleThread*|ForkJoin*|*ThreadPool*|invokeAll|execute|submit",
        "multiprocessing . Pool",
    ]),
    family("runnable", Concurrency, "passes work to be run elsewhere", &["Runnable|Callable", "run|call ( ) {"]),
    family("synchronized", Concurrency, "synchronises threads", &["*synchronis*|*synchroniz*"]),
    family("atomic", Concurrency, "counts with atomic variables", &[
        "Atomic+|incrementAndGet|getAndIncrement|compareAndSet|addAndGet|LongAdder|decrementAndGet", "atomic",
    ]),
    family("concurrent", Concurrency, "uses concurrent collections, or says concurrent", &[
        "*concurren*|CopyOnWrite*|LinkedBlocking*|ArrayBlocking*|BlockingQueue",
    ]),
    family("parallel", Concurrency, "runs in parallel", &[
        "*parallel*|*simultaneous*|*multiThread*|*multithread*|*multi_thread*|*stress*",
    ]),
    family("lock", Concurrency, "takes locks or semaphores", &[
        "*Lock*|lock*|unlock*|*deadlock*|*semaphore*|*mutex*|*barrier*|volatile", "*_lock",
    ]),
    family("race", Concurrency, "names a race, an interruption or contention", &[
        "race*|*Race*|*interrupt|*interrupts|*interrupted|*interruption|*interrupting|*interleav*|*contend*|*contention*",
    ]),
    family("scheduler", Concurrency, "hands work to a scheduler or pool", &[
        "*Scheduler*|*scheduled*|*schedule*|*timer*|*observeOn*|*subscribeOn*|*workerPool*|*pool*",
    ]),
    family("transaction", Concurrency, "depends on transactions", &[
        "*transaction*|*commit*|*rollback*|tx|Tx|beginTx",
    ]),
    family("current-time", Time, "reads the clock", &[
        "currentTimeMillis|nanoTime|elapsedRealtime*|uptimeMillis|currentTime*|getNanoTime|systemDefaultZone",
        "time . time|monotonic|perf_counter|time_ns|process_time", "Date . now", "SystemTime|utcnow",
        "performance . now", "new Date ( )",
    ]),
    family("now", Time, "compares with the time of now", &[
        "now|NOW|today|getToday|tomorrow|yesterday", "time . Now|Since|Until",
    ]),
    family("date", Time, "works with dates", &[
        "*Date*|*Calendar*|date|dates|day|days|month|year|hour|getTime|setTime|getTimeInMillis|calendar",
        "timedelta|datetime|strftime|strptime|relativedelta",
    ]),
    family("date-arithmetic", Time, "adds to dates, or takes from them", &[
        "Instant|LocalDate*|LocalTime|ZonedDateTime|OffsetDateTime|ZoneId|ZoneOffset|ChronoUnit|Period|Year*|Month*|DayOfWeek",
        "plusDays|plusHours|plusMinutes|plusSeconds|plusMillis|plusMonths|plusYears",
        "minusDays|minusHours|minusMinutes|minusSeconds|minusMillis|minusMonths|minusYears", "timedelta (",
    ]),
    family("duration", Time, "measures how long something takes", &[
        "*duration*|*elapsed*|*stopwatch*|*stopWatch*|*latency*|*interval*|*millis*|*nanos*|*seconds*|*minutes*",
    ]),
    family("clock", Time, "uses a clock object", &["*Clock*|clock|Ticker|fakeTime*", "freeze_time|freezegun|useFakeTimers"]),
    family("time-zone", Time, "depends on the time zone", &[
        "*timeZone*|*timezone*|*ZONE*|*ZoneId*|*ZoneOffset*|*Zoned*|*Locale*|*DST*|*daylight*", "tzinfo|pytz|zoneinfo|ZoneInfo",
    ]),
    family("time-format", Time, "formats or parses a date", &[
        "*DateFormat*|*DateTimeFormat*|*TimeFormat*|*SimpleDate*|*ISO_*|*parseDate*|*formatDate*|*dateFormat*",
        "strftime|strptime|isoformat|fromisoformat|toISOString",
    ]),
    family("expiry", Time, "something expires after a time", &[
        "*expir*|*Ttl*|*TTL*|*retention*|*validFrom*|*validUntil*|*lease|*leased|*leases|*leaseTime|*evict*|*delay*",
        "ttl|maxAge|max_age|period",
    ]),
    family("time-stamp", Time, "stores or compares time stamps", &[
        "*timestamp*|*timeStamp*|*TIMESTAMP*|*modified*|*modTime*|*createdAt*|*createdOn*|*UUID*|*startTime*|*endTime*",
        "*start_time*|*end_time*|*created_at*|*updated_at*|mtime|st_mtime|getmtime",
    ]),
    family("time-name", Time, "names a time", &["time|time+|times+|*Time|*TimeMillis|Time+|Times+", "*_time"]),
    family("time-comparison", Time, "subtracts or compares two readings of the clock", &[
        "start*|begin*|before*|end*|t1|t2|t0|now|time*|*Time -|+|<|>|<=|>=",
        "-|+|<|>|<=|>= start*|begin*|before*|*Time",
    ]),
    family("performance", Time, "says how fast something is", &[
        "*performance*|*speed*|*benchmark*|*throughput*|*Rate|rate|*slow*|Faster*|faster*",
    ]),
    family("map", UnorderedCollection, "fills a map whose order is not defined", &[
        "HashMap|Map|newHashMap|ImmutableMap|JSONObject|Properties|Hashtable", "!. dict (", "make ( map",
    ]),
    family("set", UnorderedCollection, "fills a set whose order is not defined", &[
        "HashSet|Set|newHashSet|Sets|ImmutableSet|toSet|EnumSet", "!. set|frozenset (",
    ]),
    family("to-string", UnorderedCollection, "compares the printed form of an object", &[
        "toString|asString|getAsString|toPrettyString|deepToString|toText|asText|stringify|print* (", "!. repr|str (", "Sprintf",
    ]),
    family("json", UnorderedCollection, "turns objects into JSON", &["*json*|*JSON*|*gson*|*ObjectMapper*|*mapper*|*Jackson*"]),
    family("serialisation", UnorderedCollection, "serialises or generates text", &[
        "*serialis*|*serializ*|*writeValue*|*marshal*|*encode*|*toXml*|*yaml*|*toXML*|*render*|*generate*|*schema*", "pickle",
    ]),
    family("reflection", UnorderedCollection, "lists members by reflection", &[
        "getDeclared+|getMethod|getMethods|getField|getFields|getConstructor|getConstructors|getAnnotation|getAnnotations",
        "getClass|getParameters|getInterfaces|Field|Method|Constructor|PropertyDescriptor|*reflect*",
        "!. dir|vars (", "getmembers|__dict__|__subclasses__",
    ]),
    family("listing", UnorderedCollection, "lists keys, values or files", &[
        "keySet|entrySet|values|keys|getKeys|names|getNames|listFiles|list|elements (", "listdir|iterdir|glob|scandir|walk|items|ReadDir (",
        "Object . keys|values|entries", "read_dir (",
    ]),
    family("first-element", UnorderedCollection, "takes the first element of a collection", &[
        "iterator|next|findFirst|findAny|getFirst|stream|toArray|first (", ". get ( 0 )", "[ 0 ]", "popitem (",
    ]),
    family("list-comparison", UnorderedCollection, "compares a list element by element", &[
        "assertArrayEquals|asList|containsExactly|assertIterableEquals|newArrayList|contains (",
        "ImmutableList|hasItem|hasItems|isEqualTo (", "List . of (", "Arrays . equals (",
        "assertListEqual|assertSequenceEqual|DeepEqual|toEqual (",
    ]),
    family("text-comparison", UnorderedCollection, "compares with a text", &[
        "assertEquals|isEqualTo|equalTo|is|assertThat|assertSame|assertTrue ( ..; <text>", "assertEqual ( ..; <text>",
        "== <text>",
    ]),
    family("query", UnorderedCollection, "builds a query or a list of fields", &[
        "*query*|*sql*|*SQL*|*statement*|*column*|*field*|*property*|*attribute*|*param*|*criteria*",
    ]),
    family("expected-text", UnorderedCollection, "has a long expected text", &["<text> + <text>", "expected*|EXPECTED*"]),
    family("static-method", OrderDependent, "calls static methods that keep state", &[
        "<Type> . get*|set*|reset*|clear*|init*|register*|add*|remove*|put*|create* (",
    ]),
    family("system-property", OrderDependent, "changes properties of the whole process", &[
        "System . setProperty|getProperty|clearProperty|getenv|setOut|setErr|setIn|setProperties|getProperties",
        "os . chdir|getcwd|umask", "sys . path|modules|argv|stdout|stderr|stdin", "Chdir|set_current_dir", "process . chdir",
    ]),
    family("singleton", OrderDependent, "uses a singleton", &[
        "getInstance*|getDefault*|getSingleton*|getCurrent*|getGlobal* (", "INSTANCE|*singleton*", "get_instance (",
    ]),
    family("registry", OrderDependent, "uses a registry or factory", &[
        "*register*|*registry*|*registration*|*ServiceLoader*|*ExtensionLoader*|*provider*|*factory*",
    ]),
    family("shared-state", OrderDependent, "depends on a cache, counter or global configuration", &[
        "*cache*|*caching*|*global*|*shared*|*counter*|*metric*|*config*|*context*|*setting*|*preference*|*environment*|*default*",
        "lru_cache|nonlocal|OnceLock|lazy_static",
    ]),
    family("naming", OrderDependent, "binds names in a shared container", &[
        "*bind*|*rebind*|*unbind*|*lookup*|*naming*|*container*|*inject*|*module*|*bean*|*application*",
    ]),
    family("files", OrderDependent, "reads or writes files", &[
        "File|Path|Paths|Files|FileSystem|*file*|mkdir|mkdirs|createTemp*|*Directory|*Dir", "!. open (", "makedirs|shutil|pathlib|write_text|read_text",
    ]),
    family("database", OrderDependent, "depends on the contents of a database", &[
        "*repository*|*Dao*|*DAO*|*database*|*entityManager*|*JdbcTemplate*|*insert*|*findAll*|*findBy*|*table*|*save*|*persist*|*deleteAll*",
        "sqlite3|cursor", "session . add|query|commit|flush", "objects . create|all|filter|get",
    ]),
    family("mock", OrderDependent, "uses mocks", &[
        "mock|when|verify|thenReturn|doReturn|spy|any|Mockito|EasyMock|replay|expect|createMock|stub*|times|never|atLeast* (",
        "verifyZero*|verifyNoMore* (", "patch|MagicMock|Mock (", "patch . object|dict|multiple", "monkeypatch|mocker . <word>",
        "jest|vi . fn|mock|spyOn",
    ]),
    family("clean-up", OrderDependent, "cleans up shared state", &[
        "*reset*|*clear*|*cleanup*|*cleanUp*|*clean_up*|*destroy*|*tearDown*|*release*|*dispose*|*restore* (",
    ]),
    family("set-up", OrderDependent, "sets up shared state", &[
        "*init|*initial*|*setUp|*setup|*load|*loadClass*|*loader|*bootstrap|*install|*getContextClassLoader",
    ]),
    family("size-assertion", OrderDependent, "says how many things exist", &[
        "assertEquals|assertThat|assertTrue ( ..; size|length|count|getCount|isEmpty|getSize|hasSize (",
        "assertEquals ( 0|1|2|3 ,", "assert len (", "assertEqual ( len", "toHaveLength (",
    ]),
    family("null-assertion", OrderDependent, "says that something is absent or present", &[
        "assertNull|assertNotNull|isNull|isNotNull|nullValue|notNullValue|assertFalse|assertSame|assertNotSame",
        "assertIsNone|assertIsNotNone", "is None", "is not None", "toBeNull|toBeDefined|toBeUndefined",
    ]),
    family("exception", OrderDependent, "expects an exception", &[
        "fail|assertThrows|expectMessage|expected|catchThrowable|assertThatThrownBy|hasMessage|intercept (", "} catch (",
        "pytest . raises", "assertRaises|assertRaisesRegex|toThrow (",
    ]),
    family("user", OrderDependent, "depends on the user or the security set-up", &[
        "*security*|*user*|*login*|*auth*|*token*|*principal*|*permission*|*credential*|*role*",
    ]),
    family("parsing", OrderDependent, "parses or converts a value", &[
        "parse*|read*|decode*|from*|valueOf|of|format*|convert*|split|match* (",
    ]),
    neutral("random", "depends on random numbers", &[
        "*Random|nextInt|nextLong|nextDouble|nextGaussian|randomUUID|random*|*_random|shuffle|Random*", "random . <word>",
        "uuid . uuid4|uuid1", "uuid4|secrets|randint|urandom|thread_rng|Faker|faker",
    ]),
    neutral("environment", "depends on the environment", &[
        "getenv|environ|putenv|unsetenv|Setenv|Getenv|setenv|delenv|set_var|remove_var", "process . env", "env :: var", "platform . <word>",
    ]),
    neutral("temp-files", "uses temporary files", &[
        "*tempFile*|*tempDir*|TemporaryFolder|TempDir|tempfile|mkdtemp|mkstemp|NamedTemporaryFile|TemporaryDirectory|tmp_path|tmpdir|tmp_path_factory",
        "*tmpDir*|*tmpFile*|MkdirTemp|CreateTemp|tmpdir_factory",
    ]),
    neutral("socket", "opens a socket", &[
        "Socket|ServerSocket|DatagramSocket|SocketChannel|ServerSocketChannel|create_connection|create_server", "socket . <word>",
        "TcpListener|TcpStream|UdpSocket", "net . Listen|Dial|createServer",
    ]),
    neutral("process", "starts another process", &[
        "ProcessBuilder|Process", "subprocess . <word>", "getRuntime ( ) . exec", "exec . Command", "Command :: new", "child_process|Popen",
    ]),
    neutral("module-state", "changes state of a module", &[
        "global <word>", "sys . modules|path", "reload (", "importlib . <word>", "static mut",
    ]),
];
