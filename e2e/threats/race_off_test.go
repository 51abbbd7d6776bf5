//go:build !race

package threats

const raceBuild = false
