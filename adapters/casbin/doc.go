// Package casbin decides who may do what: a fixed matrix of roles, kinds and acts in casbin's model.
//
// The matrix is code, not data: nothing is loaded, so there is nothing to fall out of step between servers. What is not
// in the matrix is denied to everybody but an admin.
package casbin
