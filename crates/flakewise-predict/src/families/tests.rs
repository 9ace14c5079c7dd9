use std::collections::BTreeSet;

use flakewise_source::{Language, read_fragment};

use super::*;

fn used(language: Language, statements: &str) -> BTreeSet<&'static str> {
    let source = match language {
        Language::Python => format!("def m(a):\n    {statements}\n"),
        _ => format!("void m() {{ {statements} }}"),
    };
    let test = read_fragment(language, &source, None, "C", "m");
    hits(&test.body).iter().map(|hit| families()[hit.family].name).collect()
}

/// Every family, statements that use it, and some that look alike and do not.
const JAVA: &[(&str, &str, &str)] = &[
    ("sleep", "Thread.sleep(5);", "sleepy(5);"),
    ("wait-call", "waitForLeader();", "awaiting = wait;"),
    ("awaitility", "await().until(ready);", "latch.awaits();"),
    ("latch", "latch.await();", "await(latch);"),
    ("timeout", "x.setReadTimeout(5);", "timeOutside();"),
    ("time-unit", "x.get(5, TimeUnit.SECONDS);", "seconds = 5;"),
    ("future", "future.get();", "map.get(key);"),
    ("async", "sendAsync(x);", "sync(x);"),
    ("queue-take", "queue.poll();", "polls = 1;"),
    ("callback", "x.onClick(y);", "once(y);"),
    ("server-client", "webServer.stop();", "serve(dish);"),
    ("network", "new URL(x);", "exporter(x);"),
    ("messaging", "myTopic.add(x);", "top(x);"),
    ("job", "clusterState();", "jobless();"),
    ("start-stop", "x.start();", "int start = 1;"),
    ("status", "x.isRunning();", "x.isRed();"),
    ("user-interface", "onView(x);", "review(x);"),
    ("loop-wait", "while (!done) { Thread.sleep(5); }", "while (!done) { } Thread.sleep(5);"),
    ("thread", "int threads = 1;", "Thread.sleep(1);"),
    ("thread-join", "worker.join();", "String.join(x);"),
    ("executor", "pool.submit(x);", "submission(x);"),
    ("runnable", "new Runnable() { };", "runs(x);"),
    ("synchronized", "synchronized (x) { }", "sync(x);"),
    ("atomic", "new AtomicInteger();", "atomically();"),
    ("concurrent", "new ConcurrentHashMap();", "occurs();"),
    ("parallel", "x.parallelStream();", "x.stream();"),
    ("lock", "x.unlock();", "x.block();"),
    ("race", "isInterrupted = raceWinner;", "trace(x);"),
    ("scheduler", "x.schedule(y);", "x.plan(y);"),
    ("transaction", "beginTx();", "taxes();"),
    ("current-time", "System.currentTimeMillis();", "System.exit(1);"),
    ("now", "x = now();", "x = know();"),
    ("date", "new Date(5);", "update(5);"),
    ("date-arithmetic", "x.plusDays(5);", "x.plus(5);"),
    ("duration", "x.elapsed();", "x.lapse();"),
    ("clock", "fakeClock.step();", "o.clocks();"),
    ("time-zone", "TimeZone.setDefault(x);", "zone(x);"),
    ("time-format", "new SimpleDateFormat(x);", "new Format(x);"),
    ("expiry", "x.expire();", "x.experience();"),
    ("time-stamp", "x.getTimestamp();", "x.stamp();"),
    ("time-name", "int startTime = 1;", "int sometimes = 1;"),
    ("time-comparison", "x = end - start;", "x = y - z;"),
    ("performance", "measureThroughput();", "through(x);"),
    ("map", "new HashMap();", "new LinkedHashMap();"),
    ("set", "new HashSet();", "x.set(y);"),
    ("to-string", "x.toString();", "x.strings();"),
    ("json", "toJson(x);", "jason(x);"),
    ("serialisation", "serialize(x);", "series(x);"),
    ("reflection", "x.getDeclaredFields();", "x.getFieldOfView();"),
    ("listing", "x.keySet();", "x.keyword();"),
    ("first-element", "x.get(0);", "x.get(1);"),
    ("list-comparison", "Arrays.asList(x);", "list(x);"),
    ("text-comparison", "assertEquals(x, \"a b\");", "assertEquals(x, y); f(\"a b\");"),
    ("query", "sqlQuery(x);", "quest(x);"),
    ("expected-text", "x = \"a\" + \"b\";", "x = \"a\" + b;"),
    ("static-method", "Registry.clearAll();", "registry.clearAll();"),
    ("system-property", "System.setProperty(x, y);", "o.setProperty(x, y);"),
    ("singleton", "X.getInstance();", "X.get();"),
    ("registry", "new XFactory();", "regal(x);"),
    ("shared-state", "x.getConfig();", "x.fig();"),
    ("naming", "x.rebind(y);", "x.bond(y);"),
    ("files", "new File(x);", "x.open(y);"),
    ("database", "userDao.load(x);", "tabular(x);"),
    ("mock", "when(x);", "whenever(x);"),
    ("clean-up", "x.resetAll();", "x.reset = y;"),
    ("set-up", "x.setup();", "x.upset();"),
    ("size-assertion", "assertEquals(5, x.size());", "x.size();"),
    ("null-assertion", "assertNull(x);", "x = null;"),
    ("exception", "try { } catch (E e) { }", "failed(x);"),
    ("user", "x.login(y);", "x.log(y);"),
    ("parsing", "Integer.valueOf(x);", "value(x);"),
    ("random", "new Random();", "brand(x);"),
    ("environment", "System.getenv(x);", "System.exit(1);"),
    ("temp-files", "File.createTempFile(x, y);", "attempt(x);"),
    ("socket", "new ServerSocket(1);", "new Sock(1);"),
    ("process", "new ProcessBuilder(x);", "process(x);"),
    ("module-state", "global x;", "global(x);"),
];

#[test]
fn each_family_is_found_where_it_is_used_and_only_there() {
    for (family, uses, looks_alike) in JAVA {
        assert!(used(Language::Java, uses).contains(family), "{family} in {uses}");
        assert!(!used(Language::Java, looks_alike).contains(family), "{family} in {looks_alike}");
    }
    let named: Vec<&str> = JAVA.iter().map(|(family, ..)| *family).collect();
    assert_eq!(named, families().iter().map(|family| family.name).collect::<Vec<_>>());
}

#[test]
fn families_are_found_in_python() {
    for (family, uses, looks_alike) in [
        ("sleep", "time.sleep(1)", "time.slept(1)"),
        ("sleep", "await asyncio.sleep(1)", "sleep = 1"),
        ("async", "asyncio.run(main())", "sync()"),
        ("random", "x = random.choice(y)", "x = choice(y)"),
        ("random", "x = uuid.uuid4()", "x = uuid"),
        ("current-time", "x = time.time()", "x = y.time()"),
        ("now", "x = datetime.now()", "x = datetime(1)"),
        ("date", "x = datetime.timedelta(1)", "x = update()"),
        ("thread", "threading.Thread(target=f).start()", "thready(1)"),
        ("thread-join", "x = Thread(target=f)", "x = Thread"),
        ("thread", "multiprocessing.Queue()", "processing.Queue()"),
        ("socket", "x = socket.socket()", "x = socks()"),
        ("network", "requests.get(url)", "requests = 1"),
        ("temp-files", "x = tempfile.mkdtemp()", "x = attempt()"),
        ("temp-files", "tmp_path.joinpath(x)", "path.joinpath(x)"),
        ("environment", "os.environ['TZ'] = 'UTC'", "x = 'os.environ'"),
        ("set", "assert list(set(x)) == [1, 2]", "x.set(1)"),
        ("map", "x = dict(y)", "x.dict(y)"),
        ("listing", "x = os.listdir(y)", "x = lists(y)"),
        ("process", "subprocess.run(x)", "process.run(x)"),
        ("mock", "monkeypatch.setattr(x, y)", "patches(x)"),
        ("mock", "with mock.patch(x): pass", "mocking(x)"),
        ("module-state", "global counter", "globally = 1"),
        ("system-property", "os.chdir(x)", "os.getpid()"),
        ("size-assertion", "assert len(x) == 1", "len(x)"),
        ("null-assertion", "assert x is None", "x = None"),
        ("null-assertion", "assert x is not None", "x = None"),
        ("exception", "with pytest.raises(ValueError): pass", "raises = 1"),
        ("text-comparison", "assert x == 'a'", "x = 'a'"),
        ("first-element", "assert x[0] == 1", "assert x[1] == 1"),
    ] {
        assert!(used(Language::Python, uses).contains(family), "{family} in {uses}");
        assert!(!used(Language::Python, looks_alike).contains(family), "{family} in {looks_alike}");
    }
}

#[test]
fn names_are_unique_and_in_kebab_case() {
    let names: BTreeSet<&str> = families().iter().map(|family| family.name).collect();
    assert_eq!(names.len(), families().len());
    for family in families() {
        let parts: Vec<&str> = family.name.split('-').collect();
        assert!(
            parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        assert!(!family.reason.is_empty() && !family.reason.ends_with('.'), "{}", family.name);
    }
}

#[test]
fn hits_say_how_often_and_where_first() {
    let test = read_fragment(Language::Java, "void m() { x(); sleep(1); sleep(2); }", None, "C", "m");
    let sleeps = families().iter().position(|family| family.name == "sleep").expect("it is there");
    let hits = hits(&test.body);
    let hit = hits.iter().find(|hit| hit.family == sleeps).expect("it sleeps");
    assert_eq!(hit.count, 2);
    let span = &test.body.tokens[hit.first_token].span;
    assert_eq!(&test.body.text[span.start as usize..], "sleep(1); sleep(2); }");
}

#[test]
fn texts_and_comments_are_not_looked_at() {
    assert!(used(Language::Java, "x(\"Thread.sleep(5)\"); // sleep(5)").is_empty());
}
