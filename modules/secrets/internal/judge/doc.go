// Package judge says whether credentials can be used, alone and together.
package judge
