// Package headers keeps the values of the headers of inventory sources sealed.
package headers
