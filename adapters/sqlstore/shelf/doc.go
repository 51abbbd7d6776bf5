// Package shelf keeps records in SQL that are named, listed, changed and removed alike, whatever their context, and what of them is
// sealed.
package shelf
