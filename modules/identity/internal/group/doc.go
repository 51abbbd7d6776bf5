// Package group keeps teams and organizations with their members. Names have no space around them. Who may change
// something was decided before; who may read members is decided here.
package group
