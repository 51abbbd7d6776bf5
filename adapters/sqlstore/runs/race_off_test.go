//go:build !race

package runs_test

const raceBuild = false
