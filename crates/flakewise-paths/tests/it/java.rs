//! Paths of Java tests, checked by hand. Lines are counted from the method.

use flakewise_source::Language;

use crate::support::{Case, check, graph};

const CASES: &[Case] = &[
    Case {
        name: "a literal reaches an assertion",
        source: "@Test void t() {
assertEquals(1, 2);
}",
        paths: "
            1@2 -assertEquals-> assertEquals@2
            2@2 -assertEquals-> assertEquals@2
        ",
    },
    Case {
        name: "the example of the paper",
        source: r#"@Test void t() {
String content = fetch("url");
RequestMeta requestMeta = RequestMeta.fromJSON(content);
content = requestMeta.toJSON();
Asserter.assertEquals("testName", content);
}"#,
        paths: r#"
            "testName"@5 -assertEquals-> assertEquals@5
            "url"@2 -fetch-> content@2 -RequestMeta.fromJSON-> requestMeta@3 -RequestMeta.toJSON-> content@4 -assertEquals-> assertEquals@5
        "#,
    },
    Case {
        name: "nested calls are nodes, assigned calls are edges",
        source: r#"@Test void t() {
Tool tool = Tool.load("string", get(item), array[10]);
assertNotNull(tool);
}"#,
        paths: r#"
            array@2 -Tool.load-> tool@2 -assertNotNull-> assertNotNull@3
            item@2 -get-> get(item)@2 -Tool.load-> tool@2 -assertNotNull-> assertNotNull@3
            "string"@2 -Tool.load-> tool@2 -assertNotNull-> assertNotNull@3
        "#,
    },
    Case {
        name: "a declaration without a value",
        source: "@Test void t() {
int a;
a = 1;
assertTrue(a > 0);
}",
        paths: "
            1@3 -=-> a@3 ->-> assertTrue@4
            0@4 ->-> assertTrue@4
        ",
    },
    Case {
        name: "several variables in one declaration",
        source: "@Test void t() {
int a = 1, b = 2;
assertEquals(a, b);
}",
        paths: "
            1@2 -=-> a@2 -assertEquals-> assertEquals@3
            2@2 -=-> b@2 -assertEquals-> assertEquals@3
        ",
    },
    Case {
        name: "operators label what they combine",
        source: "@Test void t() {
int a = 1 + 2;
assertTrue(a * 3 == 6);
}",
        paths: "
            2@2 -+-> a@2 -==-> assertTrue@3
            3@3 -==-> assertTrue@3
            6@3 -==-> assertTrue@3
            1@2 -+-> a@2 -==-> assertTrue@3
        ",
    },
    Case {
        name: "a compound assignment keeps the old value",
        source: "@Test void t() {
int a = 1;
a += 2;
assertEquals(3, a);
}",
        paths: "
            3@4 -assertEquals-> assertEquals@4
            2@3 -+=-> a@3 -assertEquals-> assertEquals@4
            1@2 -=-> a@2 -+=-> a@3 -assertEquals-> assertEquals@4
        ",
    },
    Case {
        name: "an increment",
        source: "@Test void t() {
int a = 1;
a++;
assertEquals(2, a);
}",
        paths: "
            2@4 -assertEquals-> assertEquals@4
            1@2 -=-> a@2 -++-> a@3 -assertEquals-> assertEquals@4
        ",
    },
    Case {
        name: "a call changes its receiver",
        source: r#"@Test void t() {
List<String> list = new ArrayList<>();
list.add("a");
assertEquals(1, list.size());
}"#,
        paths: r#"
            1@4 -assertEquals-> assertEquals@4
            "a"@3 -List.add-> list@3 -List.size-> list.size()@4 -assertEquals-> assertEquals@4
            new ArrayList<>()@2 -=-> list@2 -List.add-> list@3 -List.size-> list.size()@4 -assertEquals-> assertEquals@4
        "#,
    },
    Case {
        name: "a call changes its arguments",
        source: r#"@Test void t() {
List<String> list = make();
Collections.sort(list);
assertEquals("a", list.get(0));
}"#,
        paths: r#"
            "a"@4 -assertEquals-> assertEquals@4
            0@4 -List.get-> list.get(0)@4 -assertEquals-> assertEquals@4
            make()@2 -=-> list@2 -Collections.sort-> Collections.sort(list)@3 -List.get-> list.get(0)@4 -assertEquals-> assertEquals@4
        "#,
    },
    Case {
        name: "a sleep precedes the next assertion",
        source: "@Test void t() {
Thread.sleep(100);
assertTrue(done);
assertTrue(ready);
}",
        paths: "
            ready@4 -assertTrue-> assertTrue@4
            done@3 -assertTrue-> assertTrue@3
            100@2 -Thread.sleep-> Thread.sleep(100)@2 -after-> assertTrue@3
        ",
    },
    Case {
        name: "branches do not see each other",
        source: "@Test void t() {
int a = 0;
if (flag) {
  a = 1;
} else {
  a = 2;
}
assertEquals(a, 3);
}",
        paths: "
            2@6 -=-> a@6 -assertEquals-> assertEquals@8
            1@4 -=-> a@4 -assertEquals-> assertEquals@8
            3@8 -assertEquals-> assertEquals@8
        ",
    },
    Case {
        name: "a branch keeps what was before",
        source: "@Test void t() {
int a = 0;
if (flag) {
  a = 1;
}
assertEquals(a, 3);
}",
        paths: "
            1@4 -=-> a@4 -assertEquals-> assertEquals@6
            0@2 -=-> a@2 -assertEquals-> assertEquals@6
            3@6 -assertEquals-> assertEquals@6
        ",
    },
    Case {
        name: "a for loop",
        source: "@Test void t() {
int sum = 0;
for (int i = 0; i < 3; i++) {
  sum += i;
}
assertEquals(3, sum);
}",
        paths: "
            3@6 -assertEquals-> assertEquals@6
            0@3 -=-> i@3 -+=-> sum@4 -assertEquals-> assertEquals@6
            0@2 -=-> sum@2 -assertEquals-> assertEquals@6
            0@2 -=-> sum@2 -+=-> sum@4 -assertEquals-> assertEquals@6
        ",
    },
    Case {
        name: "a for-each loop",
        source: "@Test void t() {
for (String name : names()) {
  assertNotNull(name);
}
}",
        paths: "
            names()@2 -=-> name@2 -assertNotNull-> assertNotNull@3
        ",
    },
    Case {
        name: "a while loop",
        source: "@Test void t() {
int n = 3;
while (n > 0) {
  n = next(n);
}
assertEquals(0, n);
}",
        paths: "
            0@6 -assertEquals-> assertEquals@6
            3@2 -=-> n@2 -next-> n@4 -assertEquals-> assertEquals@6
            3@2 -=-> n@2 -assertEquals-> assertEquals@6
        ",
    },
    Case {
        name: "a do loop",
        source: "@Test void t() {
int n;
do {
  n = poll();
} while (n > 0);
assertEquals(0, n);
}",
        paths: "
            0@6 -assertEquals-> assertEquals@6
            poll()@4 -=-> n@4 -assertEquals-> assertEquals@6
        ",
    },
    Case {
        name: "a switch",
        source: "@Test void t() {
int a = 0;
switch (mode) {
  case 1: a = 1; break;
  default: a = 2;
}
assertEquals(a, 3);
}",
        paths: "
            2@5 -=-> a@5 -assertEquals-> assertEquals@7
            1@4 -=-> a@4 -assertEquals-> assertEquals@7
            3@7 -assertEquals-> assertEquals@7
        ",
    },
    Case {
        name: "a switch expression",
        source: "@Test void t() {
int a = switch (mode) { case 1 -> 5; default -> 6; };
assertEquals(a, 3);
}",
        paths: "
            6@2 -=-> a@2 -assertEquals-> assertEquals@3
            3@3 -assertEquals-> assertEquals@3
            5@2 -=-> a@2 -assertEquals-> assertEquals@3
            mode@2 -=-> a@2 -assertEquals-> assertEquals@3
        ",
    },
    Case {
        name: "try, catch and finally",
        source: r#"@Test void t() {
try {
  parse("x");
  fail();
} catch (ParseException e) {
  assertEquals("bad", e.getMessage());
} finally {
  close();
}
}"#,
        paths: r#"
            "bad"@6 -assertEquals-> assertEquals@6
            "x"@3 -parse-> parse("x")@3 -catch-> e@5 -getMessage-> e.getMessage()@6 -assertEquals-> assertEquals@6
            "x"@3 -parse-> parse("x")@3 -after-> fail@4
        "#,
    },
    Case {
        name: "a resource",
        source: r#"@Test void t() {
try (Reader reader = open("f")) {
  assertEquals(1, reader.read());
}
}"#,
        paths: r#"
            1@3 -assertEquals-> assertEquals@3
            "f"@2 -open-> reader@2 -Reader.read-> reader.read()@3 -assertEquals-> assertEquals@3
        "#,
    },
    Case {
        name: "an expected exception",
        source: r#"@Test(expected = ParseException.class) void t() {
parse("x");
}"#,
        paths: r#"
            "x"@2 -parse-> parse("x")@2 -throws-> expected ParseException@2
        "#,
    },
    Case {
        name: "a rule for exceptions",
        source: r#"@Test void t() {
thrown.expect(IOException.class);
parse("x");
}"#,
        paths: r#"
            IOException.class@2 -expect-> expected expect@3
            "x"@3 -parse-> parse("x")@3 -throws-> expected expect@3
        "#,
    },
    Case {
        name: "assertThrows",
        source: r#"@Test void t() {
IOException e = assertThrows(IOException.class, () -> parse("x"));
assertEquals("bad", e.getMessage());
}"#,
        paths: r#"
            "bad"@3 -assertEquals-> assertEquals@3
            "x"@2 -parse-> parse("x")@2 -=-> e@2 -IOException.getMessage-> e.getMessage()@3 -assertEquals-> assertEquals@3
            IOException.class@2 -assertThrows-> assertThrows@2
            "x"@2 -parse-> parse("x")@2 -assertThrows-> assertThrows@2
            IOException.class@2 -=-> e@2 -IOException.getMessage-> e.getMessage()@3 -assertEquals-> assertEquals@3
        "#,
    },
    Case {
        name: "fail under a condition",
        source: r#"@Test void t() {
int n = count();
if (n > 3) {
  fail("too many");
}
}"#,
        paths: r#"
            "too many"@4 -fail-> fail@4
            count()@2 -=-> n@2 ->-> fail@4
            3@3 ->-> fail@4
        "#,
    },
    Case {
        name: "an assertion error that is thrown",
        source: r#"@Test void t() {
int n = count();
if (n > 3) {
  throw new AssertionError("many");
}
}"#,
        paths: r#"
            "many"@4 -new AssertionError-> new AssertionError("many")@4 -raise-> AssertionError@4
            count()@2 -=-> n@2 ->-> AssertionError@4
            3@3 ->-> AssertionError@4
        "#,
    },
    Case {
        name: "verify of a mock",
        source: r#"@Test void t() {
Listener mock = mock(Listener.class);
service.add(mock);
verify(mock, times(1)).changed("a");
}"#,
        paths: r#"
            Listener.class@2 -mock-> mock@2 -verify-> verify.changed@4
            1@4 -times-> times(1)@4 -verify-> verify.changed@4
            "a"@4 -changed-> verify.changed@4
        "#,
    },
    Case {
        name: "verify in order",
        source: "@Test void t() {
InOrder inOrder = inOrder(a);
inOrder.verify(a).run();
}",
        paths: "
            a@2 -inOrder-> inOrder@2 -verify-> verify.run@3
            a@2 -verify-> verify.run@3
        ",
    },
    Case {
        name: "an assertThat chain",
        source: "@Test void t() {
assertThat(list.size()).isEqualTo(3).isLessThan(max);
}",
        paths: "
            list@2 -size-> list.size()@2 -assertThat-> assertThat.isLessThan@2
            3@2 -isEqualTo-> assertThat.isLessThan@2
            max@2 -isLessThan-> assertThat.isLessThan@2
        ",
    },
    Case {
        name: "hamcrest",
        source: "@Test void t() {
assertThat(answer, is(equalTo(42)));
}",
        paths: "
            answer@2 -assertThat-> assertThat@2
            42@2 -equalTo-> equalTo(42)@2 -is-> is(equalTo(42))@2 -assertThat-> assertThat@2
        ",
    },
    Case {
        name: "mockMvc",
        source: r#"@Test void t() {
mvc.perform(get("/")).andExpect(status().isOk());
}"#,
        paths: r#"
            "/"@2 -get-> get("/")@2 -perform-> mvc.perform(get("/"))@2 -andExpect-> andExpect@2
            status()@2 -isOk-> status().isOk()@2 -andExpect-> andExpect@2
            mvc@2 -perform-> mvc.perform(get("/"))@2 -andExpect-> andExpect@2
        "#,
    },
    Case {
        name: "waiting for a condition",
        source: "@Test void t() {
await().atMost(5, SECONDS).until(() -> queue.isEmpty());
}",
        paths: "
            SECONDS@2 -atMost-> await().atMost(5, SECONDS)@2 -until-> until@2
            queue@2 -isEmpty-> queue.isEmpty()@2 -until-> until@2
            5@2 -atMost-> await().atMost(5, SECONDS)@2 -until-> until@2
            await()@2 -atMost-> await().atMost(5, SECONDS)@2 -until-> until@2
        ",
    },
    Case {
        name: "a Java assert",
        source: r#"@Test void t() {
int a = 1;
assert a == 1 : "message";
}"#,
        paths: "
            1@2 -=-> a@2 -==-> assert@3
            1@3 -==-> assert@3
        ",
    },
    Case {
        name: "a block lambda",
        source: "@Test void t() {
List<String> list = names();
list.forEach(name -> {
  assertNotNull(name);
});
}",
        paths: "
            names()@2 -=-> list@2 -=-> name@3 -assertNotNull-> assertNotNull@4
        ",
    },
    Case {
        name: "an anonymous class",
        source: "@Test void t() {
executor.submit(new Runnable() {
  public void run() {
    latch.countDown();
  }
});
assertTrue(latch.await(1, SECONDS));
}",
        paths: "
            SECONDS@7 -await-> latch.await(1, SECONDS)@7 -assertTrue-> assertTrue@7
            1@7 -await-> latch.await(1, SECONDS)@7 -assertTrue-> assertTrue@7
            latch@4 -await-> latch.await(1, SECONDS)@7 -assertTrue-> assertTrue@7
            latch@4 -countDown-> latch@4 -await-> latch.await(1, SECONDS)@7 -assertTrue-> assertTrue@7
        ",
    },
    Case {
        name: "a reference to a method",
        source: "@Test void t() {
List<Integer> list = map(source::next);
assertEquals(0, list.size());
}",
        paths: "
            0@3 -assertEquals-> assertEquals@3
            source@2 -::next-> source::next@2 -map-> list@2 -List.size-> list.size()@3 -assertEquals-> assertEquals@3
        ",
    },
    Case {
        name: "a conditional expression, a cast and brackets",
        source: "@Test void t() {
long a = flag ? (long) first() : (second);
assertEquals(1, a);
}",
        paths: "
            1@3 -assertEquals-> assertEquals@3
            second@2 -=-> a@2 -assertEquals-> assertEquals@3
            first()@2 -=-> a@2 -assertEquals-> assertEquals@3
            flag@2 -=-> a@2 -assertEquals-> assertEquals@3
        ",
    },
    Case {
        name: "array elements and fields are assigned",
        source: "@Test void t() {
int[] a = new int[2];
a[0] = 5;
point.x = 3;
assertEquals(5, a[0]);
assertEquals(3, point.x);
}",
        paths: "
            3@6 -assertEquals-> assertEquals@6
            3@4 -.x-> point@4 -.x-> assertEquals@6
            5@5 -assertEquals-> assertEquals@5
            5@3 -[]-> a@3 -[]-> assertEquals@5
            point@4 -.x-> point@4 -.x-> assertEquals@6
            2@2 -=-> a@2 -[]-> a@3 -[]-> assertEquals@5
        ",
    },
    Case {
        name: "an array initializer",
        source: "@Test void t() {
int[] a = {1, 2};
assertEquals(2, a.length);
}",
        paths: "
            2@3 -assertEquals-> assertEquals@3
            2@2 -=-> a@2 -.length-> assertEquals@3
            1@2 -=-> a@2 -.length-> assertEquals@3
        ",
    },
    Case {
        name: "instanceof with a name",
        source: "@Test void t() {
if (shape instanceof Circle circle) {
  assertEquals(1, circle.radius());
}
}",
        paths: "
            1@3 -assertEquals-> assertEquals@3
            shape@2 -=-> circle@2 -Circle.radius-> circle.radius()@3 -assertEquals-> assertEquals@3
        ",
    },
    Case {
        name: "synchronized and labeled statements",
        source: "@Test void t() {
synchronized (lock) {
  value = 1;
}
outer: for (;;) { break outer; }
assertEquals(1, value);
}",
        paths: "
            1@6 -assertEquals-> assertEquals@6
            1@3 -=-> value@3 -assertEquals-> assertEquals@6
        ",
    },
    Case {
        name: "a local class",
        source: "@Test void t() {
class Counter { int n; void add() { n++; } }
Counter counter = new Counter();
counter.add();
assertEquals(1, counter.n);
}",
        paths: "
            1@5 -assertEquals-> assertEquals@5
            new Counter()@3 -=-> counter@3 -Counter.add-> counter@4 -.n-> assertEquals@5
        ",
    },
    Case {
        name: "a return ends nothing that is known",
        source: "@Test void t() {
if (skip) return;
assertTrue(ok());
}",
        paths: "
            ok()@3 -assertTrue-> assertTrue@3
        ",
    },
    Case {
        name: "static constants and class literals",
        source: "@Test void t() {
assertEquals(Level.WARN, log.level(Foo.class));
}",
        paths: "
            Level.WARN@2 -assertEquals-> assertEquals@2
            Foo.class@2 -level-> log.level(Foo.class)@2 -assertEquals-> assertEquals@2
            log@2 -level-> log.level(Foo.class)@2 -assertEquals-> assertEquals@2
        ",
    },
    Case {
        name: "a fluent builder",
        source: r#"@Test void t() {
Request request = Request.builder().url("u").timeout(5).build();
assertEquals("u", request.url());
}"#,
        paths: r#"
            "u"@3 -assertEquals-> assertEquals@3
            5@2 -timeout-> Request.builder().url("u").timeout(5)@2 -build-> request@2 -Request.url-> request.url()@3 -assertEquals-> assertEquals@3
            "u"@2 -url-> Request.builder().url("u")@2 -timeout-> Request.builder().url("u").timeout(5)@2 -build-> request@2 -Request.url-> request.url()@3 -assertEquals-> assertEquals@3
            Request.builder()@2 -url-> Request.builder().url("u")@2 -timeout-> Request.builder().url("u").timeout(5)@2 -build-> request@2 -Request.url-> request.url()@3 -assertEquals-> assertEquals@3
        "#,
    },
    Case {
        name: "no assertion: the last statement must not throw",
        source: "@Test void t() {
Service service = new Service();
service.start();
service.stop();
}",
        paths: "
            new Service()@2 -=-> service@2 -Service.start-> service@3 -Service.stop-> service@4 -completes-> completes@4
        ",
    },
    Case {
        name: "a failure alone is START and ASSERT",
        source: "@Test void t() {
fail();
}",
        paths: "
            fail@2
        ",
    },
    Case {
        name: "nothing at all",
        source: "@Test void t() {

}",
        paths: "",
    },
];

#[test]
fn paths_of_every_kind_of_statement() {
    check(CASES, |source| graph(Language::Java, source, None));
}
