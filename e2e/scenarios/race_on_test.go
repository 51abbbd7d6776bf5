//go:build race

package scenarios

const raceBuild = true
