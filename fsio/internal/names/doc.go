// Package names holds the rules for names, globs and flags that every filesystem of fsio shares, so that all
// of them take and refuse the same.
package names
