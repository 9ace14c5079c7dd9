package com.acme.orders;

import org.junit.BeforeClass;
import org.junit.Test;

/** Its set-up throws, so that no method of it runs. */
public class BrokenSetUpTest {
    @BeforeClass
    public static void setUp() {
        throw new IllegalStateException("set-up broke: cannot reach <db> & co");
    }

    @Test
    public void neverRuns() {
        // Never runs: see the set-up.
    }
}
