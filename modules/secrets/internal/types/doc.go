// Package types validates custom types of credentials, and the credentials of these types.
package types
