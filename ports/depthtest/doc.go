// Package depthtest says how far tests go. "make test" runs what shows that a promise is kept; "make test-long",
// which builds with the tag "long", runs storms, soaks and large cases as well.
//
// A test that belongs to "make test-long" alone stands in a file with the build constraint "long". A test that
// belongs to both and has a size takes it from Of.
package depthtest

import "flag"

// Of returns the size for the kind of run: quick for "make test", long for "make test-long".
func Of[T any](quick, long T) T {
	if Long {
		return long
	}
	return quick
}

// Checks sets how often the properties of a package are drawn, unless the flag -rapid.checks says it. TestMain calls
// it before the tests run.
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
