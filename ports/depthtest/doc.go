// Package depthtest selects the depth of tests. "make test" runs the tests that cover each promise; "make test-long",
// which builds with the tag "long", adds storms, soaks and large cases.
//
// A test that only "make test-long" runs is in a file with the build constraint "long". A test of both with a size
// takes it from Of.
package depthtest

import "flag"

// Of returns the size for the kind of run: quick for "make test", long for "make test-long".
func Of[T any](quick, long T) T {
	if Long {
		return long
	}
	return quick
}

// Checks sets how often the properties of a package are drawn, unless the flag -rapid.checks does. TestMain calls it
// before the tests run.
func Checks(quick, long string) {
	flag.Parse()
	explicit := false
	flag.Visit(func(f *flag.Flag) { explicit = explicit || f.Name == "rapid.checks" })
	if explicit {
		return
	}
	if err := flag.Set("rapid.checks", Of(quick, long)); err != nil {
		panic(err)
	}
}
