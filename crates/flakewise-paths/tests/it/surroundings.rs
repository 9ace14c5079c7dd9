//! What surrounds a test and lies under it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use flakewise_paths::{ApiCounts, ApiFamily, Index, Reach, Surroundings};

fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    root
}

fn find(root: &Path, path: &str, class: &str, test: &str) -> Surroundings {
    let (index, _) = Index::build(root, None);
    Reach::new(root, &index).surroundings(path, class, test, 0).expect("the test is there")
}

fn used(counts: &ApiCounts) -> Vec<(&'static str, u32)> {
    let used = ApiFamily::ALL.into_iter().map(|family| (family.name(), counts.get(family)));
    used.filter(|(_, count)| *count > 0).collect()
}

const SERVICE: &str = "\
package acme;
import java.util.HashMap;
import java.util.Map;
public class Service {
  private static int opened;
  private final Map<String, Integer> carts = new HashMap<>();
  private final Store store;
  public Service(Store store) { this.store = store; }
  public int total() {
    int sum = 0;
    for (Integer price : carts.values()) { sum += price; }
    opened++;
    return sum + store.load();
  }
  public synchronized void close() {}
}
";
const STORE: &str = "package acme;\npublic interface Store { int load(); }\n";
const DISK: &str = "\
package acme;
import java.io.File;
public class Disk implements Store {
  public int load() { return new Clock().read(new File(\"cart\")); }
}
";
const CLOCK: &str = "\
package acme;
public class Clock {
  int read(java.io.File file) { try { Thread.sleep(5); } catch (InterruptedException e) {} return 0; }
}
";
const BASE: &str = "\
package acme;
import org.junit.Before;
public abstract class ServerTest extends org.junit.Assert {
  protected Service service;
  @Before public void open() { service = new Service(new Disk()); connect(\"localhost\"); }
  void connect(String host) { new java.net.Socket(host, 80); }
  protected int twice(int number) { return 2 * number; }
}
";
const TEST: &str = "\
package acme;
import static org.mockito.Mockito.mock;
import org.junit.Test;
public class ServiceTest extends ServerTest {
  private final Runnable task = mock(Runnable.class);
  @Test public void totals() {
    task.run();
    assertEquals(twice(0), service.total());
    System.out.println(\"done\");
  }
  @Test public void closes() { service.close(); }
}
";

fn shop() -> tempfile::TempDir {
    repository(&[
        ("src/main/java/acme/Service.java", SERVICE),
        ("src/main/java/acme/Store.java", STORE),
        ("src/main/java/acme/Disk.java", DISK),
        ("src/main/java/acme/Clock.java", CLOCK),
        ("src/test/java/acme/ServerTest.java", BASE),
        ("src/test/java/acme/ServiceTest.java", TEST),
    ])
}

#[test]
fn calls_of_a_test_are_told_apart() {
    let root = shop();
    let Surroundings { calls, own, .. } =
        find(root.path(), "src/test/java/acme/ServiceTest.java", "ServiceTest", "totals");
    assert_eq!((calls.all, calls.production, calls.test_tree, calls.mocks), (5, 1, 1, 1), "{calls:?}");
    assert_eq!((calls.library, calls.unresolved, calls.by_unique_name), (2, 0, 0), "{calls:?}");
    assert_eq!(used(&own), [("thread", 1), ("str", 1)], "a field counts as its type, `Runnable`");
}

#[test]
fn set_up_superclasses_and_helpers_are_the_test_tree() {
    let root = shop();
    let Surroundings { tree, .. } =
        find(root.path(), "src/test/java/acme/ServiceTest.java", "ServiceTest", "totals");
    assert_eq!(tree.bases, ["ServerTest", "Assert"]);
    assert_eq!((tree.superclasses, tree.test_superclasses), (1, 1));
    // The field of the test, and the method before it.
    assert_eq!(tree.set_up, 2);
    // With the test itself, `connect` and `twice`.
    assert_eq!(tree.methods, 5, "{tree:?}");
    assert_eq!(tree.mock_calls, 1);
    // `Runnable` in the field's value, `connect` and `Socket`, then the text.
    assert_eq!(used(&tree.apis), [("thread", 1), ("net", 2), ("localhost", 1), ("str", 1)]);
    assert!(tree.words.contains(&("socket".to_owned(), 1)), "{:?}", tree.words);
}

#[test]
fn production_code_is_followed_through_constructors_interfaces_and_fields() {
    let root = shop();
    let Surroundings { under, .. } =
        find(root.path(), "src/test/java/acme/ServiceTest.java", "ServiceTest", "totals");
    // The constructor with its fields and `total`; what creates a `Disk` runs no code.
    assert_eq!(under.class_names, ["Service"]);
    assert_eq!(
        under.methods,
        [3, 1, 1, 0],
        "then `Disk.load` for `Store.load`, then `Clock.read`: {under:?}"
    );
    let nearest = |family| under.nearest.get(family);
    assert_eq!((nearest(ApiFamily::Hash), nearest(ApiFamily::HashIteration)), (1, 1));
    assert_eq!((nearest(ApiFamily::StaticWrite), nearest(ApiFamily::File)), (1, 2));
    assert_eq!((nearest(ApiFamily::Sleep), nearest(ApiFamily::Catch)), (3, 3));
    assert_eq!(nearest(ApiFamily::Synchronized), 0, "`close` is not called");
    let closes = find(root.path(), "src/test/java/acme/ServiceTest.java", "ServiceTest", "closes");
    assert_eq!(closes.under.nearest.get(ApiFamily::Synchronized), 1);
    assert_eq!(closes.under.nearest.get(ApiFamily::Sleep), 0);
    assert_eq!(closes.without(ApiFamily::Synchronized).under.nearest.get(ApiFamily::Synchronized), 0);
}

#[test]
fn fixtures_are_set_up_in_python() {
    let root = repository(&[
        (
            "shop/cart.py",
            "import time\n\nclass Cart:\n    def __init__(self, store):\n        self.store = store\n\n    def total(self):\n        time.sleep(1)\n        return self.store.load()\n\n\ndef open_cart(store):\n    return Cart(store)\n",
        ),
        (
            "tests/conftest.py",
            "import pytest\nimport socket\n\n@pytest.fixture(autouse=True)\ndef clean():\n    socket.create_server((\"localhost\", 0))\n\n@pytest.fixture\ndef store(folder):\n    return Store(folder)\n\n@pytest.fixture\ndef folder(tmp_path):\n    return tmp_path.mkdir()\n\n@pytest.fixture\ndef other():\n    return random.random()\n",
        ),
        (
            "tests/test_cart.py",
            "from shop.cart import Cart, open_cart\nimport json\n\ndef total(cart):\n    return cart.total()\n\ndef test_total(store):\n    cart = Cart(store)\n    assert cart.total() == json.loads(\"1\")\n\ndef test_open(store):\n    assert total(open_cart(store)) == 0\n\nclass TestCart:\n    def setup_method(self):\n        self.cart = Cart(None)\n\n    def test_it(self):\n        assert self.cart.total() == 0\n",
        ),
    ]);
    let of = |class: &str, test: &str| find(root.path(), "tests/test_cart.py", class, test);
    let total = of("", "test_total");
    // `clean`, `store` and the `folder` that it needs, but not `other`.
    assert_eq!(total.tree.set_up, 3, "{:?}", total.tree);
    assert_eq!(total.tree.apis.get(ApiFamily::Random), 0);
    assert_eq!((total.tree.apis.get(ApiFamily::Localhost), total.own.get(ApiFamily::Json)), (1, 2));
    assert_eq!((total.calls.production, total.calls.library), (2, 1), "{:?}", total.calls);
    assert_eq!(total.under.methods[0], 2, "`__init__` and `total`");
    assert_eq!(total.under.nearest.get(ApiFamily::Sleep), 1);
    let open = of("", "test_open");
    assert_eq!((open.calls.test_tree, open.calls.production), (1, 1));
    assert_eq!(open.under.class_names, ["Cart"], "through `total`, by its only name");
    let method = of("TestCart", "test_it");
    assert_eq!(method.tree.set_up, 2, "`setup_method` and `clean`");
    assert_eq!(method.calls.production, 1, "by the type of a field");
}

#[test]
fn cycles_and_crowds_end() {
    let mut crowd = "package acme;\nclass Crowd extends Crowd {\n".to_owned();
    for number in 0..2_000 {
        writeln!(crowd, "  void m{number}() {{ m{}(); m0(); n{number}(); }}", (number + 1) % 2_000)
            .expect("a text can be written");
    }
    crowd.push_str("}\n");
    let test =
        "package acme;\nclass CrowdTest extends Loop {\n  @Test void t() { new Crowd().m0(); t(); }\n}\n";
    let root = repository(&[
        ("src/main/java/acme/Crowd.java", &crowd),
        ("src/test/java/acme/CrowdTest.java", test),
        (
            "src/test/java/acme/Loop.java",
            "package acme;\nclass Loop extends CrowdTest { @Before void b() { b(); } }\n",
        ),
    ]);
    let found = find(root.path(), "src/test/java/acme/CrowdTest.java", "CrowdTest", "t");
    assert_eq!(found.under.methods, [1, 1, 1, 1]);
    assert_eq!((found.tree.superclasses, found.tree.methods), (1, 2));
}

#[test]
fn a_function_that_calls_everything_is_read_once() {
    let methods: String = (0..10_000).map(|number| format!("  void m{number}() {{}}\n")).collect();
    let calls: String = (0..30_000).map(|number| format!("m{}();", number % 10_000)).collect();
    let all = format!("package acme;\nclass All {{\n{methods}  void all() {{ {calls} }}\n}}\n");
    let test = "package acme;\nclass AllTest {\n  @Test void t() { new All().all(); }\n}\n";
    let root =
        repository(&[("src/main/java/acme/All.java", &all), ("src/test/java/acme/AllTest.java", test)]);
    let found = find(root.path(), "src/test/java/acme/AllTest.java", "AllTest", "t");
    assert_eq!(found.under.methods, [1, 10_000, 0, 0]);
}

#[test]
fn a_file_that_changed_after_it_was_indexed_says_nothing() {
    let root = shop();
    let (index, _) = Index::build(root.path(), None);
    fs::write(root.path().join("src/main/java/acme/Service.java"), "class Other { void a() {} }")
        .expect("a file");
    let reach = Reach::new(root.path(), &index);
    let path = "src/test/java/acme/ServiceTest.java";
    let found = reach.surroundings(path, "ServiceTest", "totals", 0).expect("the test is there");
    assert_eq!(found.under.lines, [0, 0]);
    assert_eq!(reach.surroundings(path, "ServiceTest", "missing", 0), None);
    assert_eq!(reach.surroundings("src/Missing.java", "ServiceTest", "totals", 0), None);
}
