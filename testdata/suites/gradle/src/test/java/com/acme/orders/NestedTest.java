package com.acme.orders;

import static org.junit.Assert.assertEquals;

import org.junit.Test;
import org.junit.experimental.runners.Enclosed;
import org.junit.runner.RunWith;

/** Tests in classes within a class. */
@RunWith(Enclosed.class)
public class NestedTest {
    public static class WhenEmpty {
        @Test
        public void passesInNestedClass() {
            // One level down.
        }

        @Test
        public void failsInNestedClass() {
            // One level down, failing.
            assertEquals(1, 2);
        }
    }
}
