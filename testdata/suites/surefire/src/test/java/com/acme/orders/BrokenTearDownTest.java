package com.acme.orders;

import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Its tear-down throws after each test. */
class BrokenTearDownTest {
    @AfterEach
    void tearDown() {
        throw new IllegalStateException("tear-down broke");
    }

    @Test
    void passesThenTearDownBreaks() {
        // The body passes; the tear-down makes it an error.
    }

    @Test
    void failsThenTearDownBreaks() {
        // The body fails, and then the tear-down throws too.
        fail("the body failed");
    }
}
