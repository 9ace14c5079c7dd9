package com.acme.orders;

import static org.junit.Assert.fail;

import org.junit.After;
import org.junit.Test;

/** Its tear-down throws after each test. */
public class BrokenTearDownTest {
    @After
    public void tearDown() {
        throw new IllegalStateException("tear-down broke");
    }

    @Test
    public void passesThenTearDownBreaks() {
        // The body passes.
    }

    @Test
    public void failsThenTearDownBreaks() {
        // The body fails, and then the tear-down throws too.
        fail("the body failed");
    }
}
