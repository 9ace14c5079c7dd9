package com.acme.orders;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** Disabled as a whole. */
@Disabled("the whole class is off")
class DisabledTest {
    @Test
    void neverRuns() {
        // Never runs: its class is disabled.
    }
}
