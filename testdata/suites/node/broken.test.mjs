// Cannot be loaded, so that the file as a whole fails.
import "./no-such-module.mjs";
