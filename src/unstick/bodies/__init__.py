"""Rigid bodies that move with the liquid. MuJoCo does their contacts, joints and actuators; their shapes are our own signed distances."""
