//go:build !race

package scenarios

const raceBuild = false
