// Package identity keeps accounts and tokens in SQL. Of a token's secret only the hash is here.
package identity
