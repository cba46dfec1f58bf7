DROP TABLE dice_rolls;
