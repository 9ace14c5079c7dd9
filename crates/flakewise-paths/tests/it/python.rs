//! Paths of Python tests, checked by hand. Lines are counted from the function.

use flakewise_source::Language;

use crate::support::{Case, check, graph};

const CASES: &[Case] = &[
    Case {
        name: "a literal reaches an assertion",
        source: "def test_t(self):
    assert 1 == 2
",
        paths: "
            1@2 -==-> assert@2
            2@2 -==-> assert@2
        ",
    },
    Case {
        name: "the example of the paper",
        source: r#"def test_t(self):
    content = fetch("url")
    meta = RequestMeta.from_json(content)
    content = meta.to_json()
    assert "name" == content
"#,
        paths: r#"
            "name"@5 -==-> assert@5
            "url"@2 -fetch-> content@2 -RequestMeta.from_json-> meta@3 -to_json-> content@4 -==-> assert@5
        "#,
    },
    Case {
        name: "nested calls are nodes, assigned calls are edges",
        source: r#"def test_t(self):
    tool = Tool.load("string", get(item), array[10])
    assert tool is not None
"#,
        paths: r#"
            array@2 -Tool.load-> tool@2 -is not-> assert@3
            None@3 -is not-> assert@3
            item@2 -get-> get(item)@2 -Tool.load-> tool@2 -is not-> assert@3
            "string"@2 -Tool.load-> tool@2 -is not-> assert@3
        "#,
    },
    Case {
        name: "an annotation without a value",
        source: "def test_t(self):
    a: int
    a = 1
    assert a > 0
",
        paths: "
            1@3 -=-> a@3 ->-> assert@4
            0@4 ->-> assert@4
        ",
    },
    Case {
        name: "an annotated assignment",
        source: "def test_t(self):
    a: List[int] = make(3)
    assert a
",
        paths: "
            3@2 -make-> a@2 -assert-> assert@3
        ",
    },
    Case {
        name: "chained assignment",
        source: "def test_t(self):
    a = b = 1
    assert a == b
",
        paths: "
            1@2 -=-> b@2 -=-> a@2 -==-> assert@3
            1@2 -=-> b@2 -==-> assert@3
        ",
    },
    Case {
        name: "unpacking",
        source: "def test_t(self):
    a, (b, *c) = pair()
    assert a == c
",
        paths: "
            pair()@2 -=-> a@2 -==-> assert@3
            pair()@2 -=-> c@2 -==-> assert@3
        ",
    },
    Case {
        name: "swapping",
        source: "def test_t(self):
    a, b = 1, 2
    a, b = b, a
    assert a == 2
",
        paths: "
            2@2 -=-> a@2 -=-> a@3 -==-> assert@4
            2@4 -==-> assert@4
            1@2 -=-> a@2 -=-> a@3 -==-> assert@4
            2@2 -=-> b@2 -=-> a@3 -==-> assert@4
            1@2 -=-> b@2 -=-> a@3 -==-> assert@4
        ",
    },
    Case {
        name: "operators label what they combine",
        source: "def test_t(self):
    a = 1 + 2
    assert a * 3 == 6
",
        paths: "
            2@2 -+-> a@2 -==-> assert@3
            3@3 -==-> assert@3
            6@3 -==-> assert@3
            1@2 -+-> a@2 -==-> assert@3
        ",
    },
    Case {
        name: "boolean operators keep comparisons",
        source: "def test_t(self):
    a = 1
    b = 2
    assert a == 1 and not b < 0
",
        paths: "
            1@2 -=-> a@2 -==-> assert@4
            1@4 -==-> assert@4
            2@3 -=-> b@3 -<-> assert@4
            0@4 -<-> assert@4
        ",
    },
    Case {
        name: "an augmented assignment",
        source: "def test_t(self):
    a = 1
    a += 2
    assert a == 3
",
        paths: "
            2@3 -+=-> a@3 -==-> assert@4
            3@4 -==-> assert@4
            1@2 -=-> a@2 -+=-> a@3 -==-> assert@4
        ",
    },
    Case {
        name: "an assignment expression",
        source: "def test_t(self):
    if (n := count()) > 3:
        pass
    assert n == 0
",
        paths: "
            count()@2 -=-> n@2 -==-> assert@4
            0@4 -==-> assert@4
        ",
    },
    Case {
        name: "a call changes its receiver",
        source: r#"def test_t(self):
    items = []
    items.append("a")
    assert len(items) == 1
"#,
        paths: r#"
            "a"@3 -append-> items@3 -len-> len(items)@4 -==-> assert@4
            1@4 -==-> assert@4
            []@2 -=-> items@2 -append-> items@3 -len-> len(items)@4 -==-> assert@4
        "#,
    },
    Case {
        name: "a call changes its arguments",
        source: r#"def test_t(self):
    items = make()
    shuffle(items)
    assert items[0] == "a"
"#,
        paths: r#"
            make()@2 -=-> items@2 -shuffle-> shuffle(items)@3 -==-> assert@4
            "a"@4 -==-> assert@4
        "#,
    },
    Case {
        name: "a sleep precedes the next assertion",
        source: "def test_t(self):
    time.sleep(0.1)
    assert done
    assert ready
",
        paths: "
            ready@4 -assert-> assert@4
            done@3 -assert-> assert@3
            0.1@2 -time.sleep-> time.sleep(0.1)@2 -after-> assert@3
        ",
    },
    Case {
        name: "branches do not see each other",
        source: "def test_t(self):
    a = 0
    if flag:
        a = 1
    elif other:
        a = 2
    else:
        a = 3
    assert a == 4
",
        paths: "
            3@8 -=-> a@8 -==-> assert@9
            2@6 -=-> a@6 -==-> assert@9
            1@4 -=-> a@4 -==-> assert@9
            4@9 -==-> assert@9
        ",
    },
    Case {
        name: "a for loop",
        source: "def test_t(self):
    total = 0
    for i in range(3):
        total += i
    assert total == 3
",
        paths: "
            3@3 -range-> i@3 -+=-> total@4 -==-> assert@5
            0@2 -=-> total@2 -==-> assert@5
            3@5 -==-> assert@5
            0@2 -=-> total@2 -+=-> total@4 -==-> assert@5
        ",
    },
    Case {
        name: "a for loop with else",
        source: "def test_t(self):
    for name in names():
        assert name
    else:
        assert done
",
        paths: "
            done@5 -assert-> assert@5
            names()@2 -=-> name@2 -assert-> assert@3
        ",
    },
    Case {
        name: "a while loop",
        source: "def test_t(self):
    n = 3
    while n > 0:
        n = step(n)
    assert n == 0
",
        paths: "
            3@2 -=-> n@2 -step-> n@4 -==-> assert@5
            3@2 -=-> n@2 -==-> assert@5
            0@5 -==-> assert@5
        ",
    },
    Case {
        name: "a match statement",
        source: r#"def test_t(self):
    match command:
        case ["go", direction]:
            assert direction
        case _:
            assert other
"#,
        paths: "
            other@6 -assert-> assert@6
            command@2 -=-> direction@3 -assert-> assert@4
        ",
    },
    Case {
        name: "try, except, else and finally",
        source: r#"def test_t(self):
    try:
        parse("x")
    except ValueError as error:
        assert "bad" in str(error)
    else:
        pytest.fail()
    finally:
        close()
"#,
        paths: r#"
            "x"@3 -parse-> parse("x")@3 -after-> fail@7
            "bad"@5 -in-> assert@5
            "x"@3 -parse-> parse("x")@3 -catch-> error@4 -str-> str(error)@5 -in-> assert@5
            "x"@3 -parse-> parse("x")@3 -after-> assert@5
        "#,
    },
    Case {
        name: "with raises",
        source: r#"def test_t(self):
    with pytest.raises(ValueError) as caught:
        parse("x")
    assert "bad" in str(caught.value)
"#,
        paths: r#"
            "bad"@4 -in-> assert@4
            "x"@3 -parse-> parse("x")@3 -raises-> caught@3 -str-> str(caught.value)@4 -in-> assert@4
            ValueError@2 -raises-> raises@3
            "x"@3 -parse-> parse("x")@3 -raises-> raises@3
        "#,
    },
    Case {
        name: "assertRaises as a call",
        source: r#"def test_t(self):
    self.assertRaises(ValueError, parse, "x")
"#,
        paths: r#"
            ValueError@2 -assertRaises-> assertRaises@2
            parse@2 -assertRaises-> assertRaises@2
            "x"@2 -assertRaises-> assertRaises@2
        "#,
    },
    Case {
        name: "with assertRaises",
        source: r#"def test_t(self):
    with self.assertRaises(KeyError):
        table["x"].drop()
"#,
        paths: "
            KeyError@2 -assertRaises-> assertRaises@3
            table@3 -drop-> table@3 -assertRaises-> assertRaises@3
        ",
    },
    Case {
        name: "with warns and a match",
        source: r#"def test_t(self):
    with pytest.warns(UserWarning, match="old"):
        legacy()
"#,
        paths: r#"
            UserWarning@2 -warns-> warns@3
            "old"@2 -warns-> warns@3
            legacy()@3 -warns-> warns@3
        "#,
    },
    Case {
        name: "a context manager with a name",
        source: r#"def test_t(self):
    with open("f") as file:
        assert file.read() == "a"
"#,
        paths: r#"
            "f"@2 -open-> file@2 -read-> file.read()@3 -==-> assert@3
            "a"@3 -==-> assert@3
        "#,
    },
    Case {
        name: "a context manager without a name",
        source: r#"def test_t(self):
    with freeze_time("2020"):
        assert today() == 1
"#,
        paths: r#"
            today()@3 -==-> assert@3
            1@3 -==-> assert@3
            "2020"@2 -freeze_time-> freeze_time("2020")@2 -after-> assert@3
        "#,
    },
    Case {
        name: "two context managers",
        source: r#"def test_t(self):
    with open("a") as a, open("b") as b:
        assert a.read() == b.read()
"#,
        paths: r#"
            "a"@2 -open-> a@2 -read-> a.read()@3 -==-> assert@3
            "b"@2 -open-> b@2 -read-> b.read()@3 -==-> assert@3
        "#,
    },
    Case {
        name: "unittest assertions",
        source: r#"def test_t(self):
    self.assertEqual(self.client.get("/"), 200)
"#,
        paths: r#"
            "/"@2 -get-> self.client.get("/")@2 -assertEqual-> assertEqual@2
            200@2 -assertEqual-> assertEqual@2
            self.client@2 -get-> self.client.get("/")@2 -assertEqual-> assertEqual@2
        "#,
    },
    Case {
        name: "self.fail",
        source: r#"def test_t(self):
    if broken():
        self.fail("why")
"#,
        paths: r#"
            "why"@3 -fail-> fail@3
            broken()@2 -if-> fail@3
        "#,
    },
    Case {
        name: "a mock",
        source: "def test_t(self):
    mock = Mock()
    service.add(mock)
    mock.assert_called_once_with(1)
",
        paths: "
            Mock()@2 -=-> mock@2 -assert_called_once_with-> assert_called_once_with@4
            1@4 -assert_called_once_with-> assert_called_once_with@4
        ",
    },
    Case {
        name: "an assertion error that is raised",
        source: r#"def test_t(self):
    if count() > 3:
        raise AssertionError("many")
"#,
        paths: r#"
            "many"@3 -AssertionError-> AssertionError("many")@3 -raise-> AssertionError@3
            count()@2 ->-> AssertionError@3
            3@2 ->-> AssertionError@3
        "#,
    },
    Case {
        name: "a list comprehension",
        source: r#"def test_t(self):
    names = [user.name for user in users() if user.active]
    assert names == ["a"]
"#,
        paths: r#"
            users()@2 -=-> user@2 -.name-> names@2 -==-> assert@3
            "a"@3 -==-> assert@3
        "#,
    },
    Case {
        name: "a dictionary comprehension and a generator",
        source: "def test_t(self):
    table = {key: value for key, value in pairs()}
    assert all(value for value in table.values())
",
        paths: "
            pairs()@2 -=-> value@2 -for-> table@2 -values-> value@3 -all-> all(value for value in table.values())@3 -assert-> assert@3
            pairs()@2 -=-> key@2 -for-> table@2 -values-> value@3 -all-> all(value for value in table.values())@3 -assert-> assert@3
        ",
    },
    Case {
        name: "a lambda",
        source: r#"def test_t(self):
    names = sorted(load(), key=lambda item: item.rank)
    assert names[0] == "a"
"#,
        paths: r#"
            item@2 -sorted-> names@2 -==-> assert@3
            "a"@3 -==-> assert@3
            load()@2 -sorted-> names@2 -==-> assert@3
        "#,
    },
    Case {
        name: "a nested function",
        source: "def test_t(self):
    def callback(event):
        seen.append(event)
    bus.on(callback)
    bus.fire(1)
    assert seen == [1]
",
        paths: "
            event@2 -append-> seen@3 -==-> assert@6
            seen@3 -==-> assert@6
            1@6 -==-> assert@6
            seen@3 -append-> seen@3 -==-> assert@6
        ",
    },
    Case {
        name: "a formatted text",
        source: r#"def test_t(self):
    name = load()
    assert f"hello {name}!" == greet()
"#,
        paths: "
            load()@2 -=-> name@2 -==-> assert@3
            greet()@3 -==-> assert@3
        ",
    },
    Case {
        name: "attributes and elements are assigned",
        source: r#"def test_t(self):
    point = Point()
    point.x = 3
    table = {}
    table["a"] = 1
    assert point.x == table["a"]
"#,
        paths: "
            3@3 -.x-> point@3 -==-> assert@6
            1@5 -[]-> table@5 -==-> assert@6
            Point()@2 -=-> point@2 -.x-> point@3 -==-> assert@6
            {}@4 -=-> table@4 -[]-> table@5 -==-> assert@6
        ",
    },
    Case {
        name: "fields of the test",
        source: "def test_t(self):
    self.value = load()
    assert self.value == self.other
",
        paths: "
            load()@2 -=-> self.value@2 -==-> assert@3
            self.other@3 -==-> assert@3
        ",
    },
    Case {
        name: "a conditional expression",
        source: "def test_t(self):
    a = first() if flag else second()
    assert a == 1
",
        paths: "
            second()@2 -=-> a@2 -==-> assert@3
            1@3 -==-> assert@3
            flag@2 -=-> a@2 -==-> assert@3
            first()@2 -=-> a@2 -==-> assert@3
        ",
    },
    Case {
        name: "await",
        source: r#"def test_t(self):
    answer = await client.get("/")
    assert answer.status == 200
"#,
        paths: r#"
            "/"@2 -get-> answer@2 -==-> assert@3
            200@3 -==-> assert@3
            client@2 -get-> answer@2 -==-> assert@3
        "#,
    },
    Case {
        name: "async for and async with",
        source: "def test_t(self):
    async with session() as s:
        async for row in s.rows():
            assert row
",
        paths: "
            session()@2 -=-> s@2 -rows-> row@3 -assert-> assert@4
        ",
    },
    Case {
        name: "keyword and splat arguments",
        source: "def test_t(self):
    answer = call(*parts, key=value, **options)
    assert answer
",
        paths: "
            options@2 -call-> answer@2 -assert-> assert@3
            value@2 -call-> answer@2 -assert-> assert@3
            parts@2 -call-> answer@2 -assert-> assert@3
        ",
    },
    Case {
        name: "numpy",
        source: "def test_t(self):
    np.testing.assert_allclose(compute(3), [1.0])
",
        paths: "
            3@2 -compute-> compute(3)@2 -assert_allclose-> assert_allclose@2
            1.0@2 -assert_allclose-> assert_allclose@2
        ",
    },
    Case {
        name: "delete, global and pass",
        source: "def test_t(self):
    global state
    state = 1
    del other
    pass
    assert state == 1
",
        paths: "
            1@3 -=-> state@3 -==-> assert@6
            1@6 -==-> assert@6
        ",
    },
    Case {
        name: "an import inside",
        source: "def test_t(self):
    from time import time
    start = time()
    assert start > 0
",
        paths: "
            time()@3 -=-> start@3 ->-> assert@4
            0@4 ->-> assert@4
        ",
    },
    Case {
        name: "a class inside",
        source: "def test_t(self):
    class Fake:
        def get(self):
            return 1
    assert use(Fake()) == 1
",
        paths: "
            Fake()@5 -use-> use(Fake())@5 -==-> assert@5
            1@5 -==-> assert@5
        ",
    },
    Case {
        name: "slices",
        source: r#"def test_t(self):
    assert text[1:end] == "b"
"#,
        paths: r#"
            text@2 -==-> assert@2
            end@2 -==-> assert@2
            "b"@2 -==-> assert@2
        "#,
    },
    Case {
        name: "no assertion: the last statement must not raise",
        source: "def test_t(self):
    service = Service()
    service.start()
    service.stop()
",
        paths: "
            Service()@2 -=-> service@2 -Service.start-> service@3 -Service.stop-> service@4 -completes-> completes@4
        ",
    },
    Case {
        name: "a docstring and nothing else",
        source: r#"def test_t(self):
    """Says why."""
"#,
        paths: "",
    },
];

#[test]
fn paths_of_every_kind_of_statement() {
    check(CASES, |source| graph(Language::Python, source, None));
}
