package com.acme.orders;

import static org.junit.Assert.assertNotEquals;

import java.util.Arrays;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameter;
import org.junit.runners.Parameterized.Parameters;

/** One case of several fails; the texts are awkward for anyone who splits names. */
@RunWith(Parameterized.class)
public class ParametersTest {
    @Parameters(name = "{index}: {0}")
    public static Iterable<String> texts() {
        return Arrays.asList("plain", "two words", "a::b[0]", "ünï→日本", "<&>\"'", "");
    }

    @Parameter public String text;

    @Test
    public void parameterised() {
        // Fails for one of the texts.
        assertNotEquals("a::b[0]", text);
    }
}
