// Package browser drives Chromium in tests of the web interface. Each page collects what its console reports and what
// the policy of its content refuses; a test fails at its end if there was anything.
package browser
